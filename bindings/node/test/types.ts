// Checked by tsc, never run: what a user writes must have the types it seems to have.
import { SandboxedFilesystem, run, call, doctor, TimeoutError, NonZeroExitError } from '../index.js';

async function use(): Promise<void> {
  const f = new SandboxedFilesystem('/home', { readonly: true, leafLinks: 'act' });
  const bytes: Buffer = await f.readFile('a');
  const text: string = await f.readFile('a', 'utf8', 1000);
  const names: string[] = await f.readdir('', { recursive: true });
  const raw: Buffer[] = await f.readdir('', { encoding: 'buffer' });
  for (const entry of await f.readdir('', { withFileTypes: true })) if (entry.isDirectory()) names.push(entry.parentPath, String(entry.type));
  const size: number = (await f.stat('a')).size;
  await f.writeFile('a', { patch: [[[[1, 'x']], 0, 0, 0, 1]], sha256: '' }, true);
  for await (const event of await f.watch('', { signal: AbortSignal.timeout(1) })) if (event.event === 'add') names.push(event.filename);
  f.on('sync', (event) => names.push(event.change.content));
  f.on('denial', (record) => names.push(record.code));
  const result = await run(['true'], { version: 1 }, { onStdout: (chunk) => raw.push(chunk) }).catch((error: unknown) => {
    if (error instanceof TimeoutError || error instanceof NonZeroExitError) return error.result;
    throw error;
  });
  const applied: boolean | undefined = result?.enforced.network?.applied;
  console.log(bytes, text, size, applied, await call('m', {}, { timeoutMs: 5 }), await doctor());
  await run(['env'], 'limits', { env: { ...process.env, EXTRA: 'x' } });
  // @ts-expect-error a path is a string
  await f.readFile(7);
  // @ts-expect-error a command is a list
  await run('true');
}
void use;
