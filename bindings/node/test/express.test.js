'use strict';

// The example in examples/express-files, served on loopback and used by a client that also tries
// to get out.

const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { once } = require('node:events');
const { test } = require('node:test');
const { playground, snapshot, temporary, lacks } = require('./support.js');

const example = path.join(__dirname, '../../../examples/express-files/server.js');
const skip = lacks('express');
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');

/** The service as somebody would install it: with `cordon` and `express` among its modules. */
async function serve(t) {
  const place = playground(t);
  const directory = temporary(t, 'service');
  fs.mkdirSync(path.join(directory, 'node_modules'));
  fs.symlinkSync(path.join(__dirname, '..'), path.join(directory, 'node_modules/cordon'));
  fs.symlinkSync(path.dirname(require.resolve('express/package.json')), path.join(directory, 'node_modules/express'));
  fs.copyFileSync(example, path.join(directory, 'server.js'));
  const denials = [];
  const { service } = require(path.join(directory, 'server.js'));
  const server = service(place.home, (record) => denials.push(record)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address();
  // Not fetch(): it would tidy up the dots before anybody could see them.
  const request = (method, target, body, type) => new Promise((resolve, reject) => {
    const headers = { Connection: 'close', ...(type && { 'Content-Type': type }) };
    const r = http.request({ port, host: '127.0.0.1', method, path: target, headers }, async (response) => {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      resolve({ status: response.statusCode, text, headers: response.headers });
    });
    r.on('error', reject);
    r.end(body);
  });
  const json = (method, target, value) => request(method, target, JSON.stringify(value), 'application/json');
  return { ...place, port, request, json, denials };
}

test('list, read, save, save by delta, move, search, remove', { skip }, async (t) => {
  const { request, json } = await serve(t);
  assert.strictEqual((await request('POST', '/directory/notes/deep')).status, 204);
  assert.strictEqual((await request('PUT', '/file/notes/a.txt', 'hello world')).status, 204);
  const got = await request('GET', '/file/notes/a.txt');
  assert.deepStrictEqual([got.status, got.text], [200, 'hello world']);
  const patch = [[[[0, 'hello '], [1, 'brave new '], [0, 'world']], 0, 0, 11, 21]];
  assert.strictEqual((await json('PATCH', '/file/notes/a.txt', { patch, sha256: sha256('hello world') })).status, 204);
  assert.strictEqual((await json('PATCH', '/file/notes/a.txt', { patch, sha256: sha256('hello world') })).status, 412);
  assert.strictEqual((await json('PATCH', '/file/notes/a.txt', { patch: 'x' })).status, 400);
  assert.strictEqual((await request('GET', '/file/notes/a.txt')).text, 'hello brave new world');
  const base = 'line\n'.repeat(500);
  await request('PUT', '/file/notes/long', base);
  assert.strictEqual((await json('POST', '/delta/notes/long', { content: `${base}more\n`, base })).status, 204);
  assert.strictEqual((await json('POST', '/delta/notes/long', { content: `${base}other\n`, base })).status, 412);
  assert.strictEqual((await request('GET', '/file/notes/long')).text, `${base}more\n`);
  assert.strictEqual((await json('POST', '/move/notes/a.txt', { to: 'notes/b.txt' })).status, 204);
  assert.deepStrictEqual(JSON.parse((await request('GET', '/list/notes')).text).map((e) => [e.name, e.type]),
    [['b.txt', 'f'], ['deep', 'd'], ['long', 'f']]);
  assert.deepStrictEqual(JSON.parse((await request('GET', '/search/?name=*.txt')).text).names, ['notes/b.txt']);
  assert.deepStrictEqual(JSON.parse((await request('GET', '/search?name=*.txt')).text).names, ['notes/b.txt']);
  assert.strictEqual((await request('GET', '/list')).text, (await request('GET', '/list/')).text);
  assert.strictEqual((await request('DELETE', '/file/notes')).status, 409);
  assert.strictEqual((await request('DELETE', '/file/notes?recursive=true')).status, 204);
  assert.strictEqual((await request('GET', '/file/notes/b.txt')).status, 404);
  assert.strictEqual((await request('GET', '/nonsense')).status, 404);
});

test('a request is about the file that it names, or refused', { skip }, async (t) => {
  const { request, json, home } = await serve(t);
  const names = ['aA', 'a%41', '100%', 'x'];
  for (const name of names) fs.writeFileSync(path.join(home, name), name);
  for (const name of names) {
    assert.deepStrictEqual([name, (await request('GET', `/file/${encodeURIComponent(name)}`)).text], [name, name]);
  }
  assert.strictEqual((await request('DELETE', '/file/a%2541')).status, 204);
  assert.strictEqual((await json('POST', '/delta/x', { text: 'new' })).status, 400);
  assert.strictEqual((await json('POST', '/move/x', { dest: 'y' })).status, 400);
  assert.strictEqual((await request('POST', '/move/x')).status, 400);
  assert.deepStrictEqual(fs.readdirSync(home).filter((name) => !/^esc|^gone/.test(name)).sort(), ['100%', 'aA', 'x']);
  assert.strictEqual(fs.readFileSync(path.join(home, 'x'), 'utf8'), 'x');
});

test('changes come as server-sent events, and a client that leaves ends its watch', { skip, timeout: 30000 }, async (t) => {
  const { request, port, home } = await serve(t);
  await request('POST', '/directory/d');
  const r = http.get({ port, host: '127.0.0.1', path: '/watch/d' });
  const [response] = await once(r, 'response');
  assert.match(response.headers['content-type'], /^text\/event-stream/);
  let text = '';
  const until = (want) => new Promise((resolve) => {
    const look = () => text.includes(want) && resolve();
    response.on('data', look);
    look();
  });
  response.on('data', (chunk) => { text += chunk; });
  await until(': armed');
  fs.writeFileSync(path.join(home, 'd/new'), 'x'); // what is saved through the service is no news
  await until('event: add\ndata: {"event":"add","filename":"new"}');
  await request('DELETE', '/file/d/new');
  await until('event: unlink\n');
  response.destroy();
  const threads = () => fs.readdirSync('/proc/self/task').length;
  const before = threads();
  for (let i = 0; i < 200 && threads() >= before; i++) await new Promise((resume) => setTimeout(resume, 20));
  assert.ok(threads() < before, 'the thread of the watch is still there');
});

const escapes = [
  '../outside/secret', '../../../../../../etc/passwd', '..%2foutside%2fsecret', '%2e%2e/outside/secret', '%2e%2e%2foutside/secret',
  'esc', 'escd/file', 'escd/../secret', './escd/./file', '//esc', 'escd%2ffile', '%2fetc%2fpasswd', 'x/../esc',
  '..%252foutside', 'esc%00', '%00', '%ff', 'proc/self/root/etc/passwd', 'a'.repeat(5000),
];

test('no request gets out', { skip }, async (t) => {
  const { request, json, denials, top, outside, before } = await serve(t);
  await request('PUT', '/file/in', 'inside');
  for (const target of escapes) {
    const all = [
      await request('GET', `/file/${target}`), await request('GET', `/list/${target}`), await request('GET', `/watch/${target}x/y`),
      await request('PUT', `/file/${target}`, 'owned'), await request('DELETE', `/file/${target}?recursive=true`),
      await json('POST', `/move/in`, { to: target, overwrite: true }), await json('POST', `/delta/${target}`, { content: 'owned' }),
      await request('POST', `/directory/${target}/new`), await request('GET', `/search/${target}`),
    ];
    for (const { status, text } of all) {
      assert.ok(status !== 500, `${target}: ${text}`);
      assert.ok(!text.includes('canary') && !text.includes('root:') && !text.includes(top), `${target}: ${text}`);
    }
    await json('POST', '/move/etc', { to: 'in' });
  }
  assert.ok(denials.length >= 20 && denials.every((d) => !JSON.stringify(d).includes(top)));
  assert.strictEqual(snapshot(outside), before);
});
