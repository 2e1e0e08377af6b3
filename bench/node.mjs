// The Node package against fs/promises, interleaved in one run: round after round each side does
// the same work, and the lower quartiles are compared as a ratio. Other work on the machine only
// ever makes a round slower.
//
//   node bench/node.mjs [ROUNDS [ITEM]]    only the items whose names contain ITEM
import { createRequire } from 'node:module';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const { SandboxedFilesystem } = createRequire(import.meta.url)('../bindings/node/index.js');
const rounds = Number(process.argv[2] ?? 200);
const wanted = process.argv[3] ?? '';
// In memory where possible: a disk's waiting would hide what is compared.
const memory = await fs.access('/dev/shm', fs.constants.W_OK).then(() => '/dev/shm', os.tmpdir);
const top = await fs.mkdtemp(path.join(memory, 'cordon-bench-'));
const cordon = new SandboxedFilesystem(top);
const file = path.join(top, 'file');
await fs.writeFile(file, Buffer.alloc(4096, 'x'));

// What a library does without openat2: resolve, open, and look whether it is still the same.
async function realpathOpenVerify() {
  const real = await fs.realpath(file);
  if (!real.startsWith(`${top}/`)) throw new Error('outside');
  const handle = await fs.open(real, 'r');
  try {
    const again = await fs.realpath(real);
    const [a, b] = [await handle.stat(), await fs.stat(again)];
    if (a.ino !== b.ino || a.dev !== b.dev) throw new Error('replaced');
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

const times = (n, act) => async () => {
  for (let i = 0; i < n; i++) await act();
};

async function tree(name) {
  const directory = path.join(top, name);
  for (let d = 0; d < 100; d++) {
    await fs.mkdir(path.join(directory, `d${d}`), { recursive: true });
    await Promise.all(Array.from({ length: 100 }, (_, f) => fs.writeFile(path.join(directory, `d${d}`, `f${f}`), '')));
  }
}

const readOurs = times(40, () => cordon.readFile('file'));
const items = [
  { name: 'readFile 4 KiB / fs.promises.readFile', bar: 1.1, ours: readOurs, theirs: times(40, () => fs.readFile(file)) },
  { name: 'readFile 4 KiB / realpath, open, verify', bar: 0.6, ours: readOurs, theirs: times(40, realpathOpenVerify) },
  { name: 'stat / fs.promises.stat', bar: 1.2, rounds: 4 * rounds, ours: times(40, () => cordon.stat('file')), theirs: times(40, () => fs.stat(file)) },
  {
    name: 'rm -r of 10,000 files / fs.promises.rm', bar: 0.6, rounds: 12,
    prepare: tree,
    ours: () => cordon.rm('ours', { recursive: true }),
    theirs: () => fs.rm(path.join(top, 'theirs'), { recursive: true }),
  },
];

async function clock(act) {
  const start = process.hrtime.bigint();
  await act();
  return Number(process.hrtime.bigint() - start) / 1e3;
}

const quartile = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 4)];

for (const item of items.filter((i) => i.name.includes(wanted))) {
  const taken = { ours: [], theirs: [] };
  for (let i = 0; i < 20 && !item.prepare; i++) for (const side of ['ours', 'theirs']) await item[side](); // warm up
  for (let round = 0; round < (item.rounds ?? rounds); round++) {
    // Each goes first every other time.
    for (const side of round % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours']) {
      if (item.prepare) await item.prepare(side);
      taken[side].push(await clock(item[side]));
    }
  }
  const ratio = quartile(taken.ours) / quartile(taken.theirs);
  console.log(`node: ${item.name.padEnd(42)} ${ratio.toFixed(2).padStart(5)}  (bar ${item.bar})`);
}
await fs.rm(top, { recursive: true });
