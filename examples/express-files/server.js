'use strict';

// A file service for one directory: list, read, save whole or by delta, rename, remove, watch.
// Every path comes from strangers. There is no check of paths in here: the filesystem object is
// the check, and whatever it refuses becomes a status.
//
//   node server.js DIRECTORY [PORT]      (npm install; listens on loopback)

const express = require('express');
const { SandboxedFilesystem } = require('cordon');

const STATUS = {
  ENOENT: 404, ENOTDIR: 404, EACCES: 403, EPERM: 403, ELOOP: 403, EEXIST: 409, ENOTEMPTY: 409,
  EISDIR: 409, ERR_FS_EISDIR: 409, EINVAL: 400, ENAMETOOLONG: 400, EXDEV: 400, LOCK: 423,
  ERR_INVALID_ARG_VALUE: 400, ERR_INVALID_ARG_TYPE: 400, ETAG_MISMATCH: 412, PATCH_FAILED: 412,
};
const LIMIT = '16mb';
const HEARTBEAT_MS = 15000;

/** The path behind a route's prefix, which Express has decoded, once; `..` and `%2e%2e` it leaves to us. */
const pathOf = (request) => request.params[0] ?? '';

/** A text of the body: what is missing must not become a name or a content. */
function textOf(request, name) {
  const value = request.body?.[name];
  if (typeof value !== 'string') throw Object.assign(new Error(`${name} must be a text`), { code: 'EINVAL' });
  return value;
}

/** Hands the error of an asynchronous handler to Express. */
const handle = (act) => (request, response, next) => act(request, response).catch(next);

const weakTag = (stats) => `W/"${stats.size}-${stats.mtimeMs}"`;

function reading(files) {
  const router = express.Router();

  router.get(['/list', '/list/*'], handle(async (request, response) => {
    const { files: entries } = await files.getListing(pathOf(request));
    const list = Object.entries(entries).map(([name, { type, size, mtime }]) => ({ name, type, size, mtime }));
    response.json(list.sort((a, b) => (a.name < b.name ? -1 : 1)));
  }));

  router.get('/file/*', handle(async (request, response) => {
    const path = pathOf(request);
    const stats = await files.stat(path);
    const content = await files.readFile(path);
    // Never rendered: what strangers saved is not a page of ours.
    response.set({
      'Content-Type': 'application/octet-stream', 'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': 'sandbox', ETag: weakTag(stats),
    });
    response.send(content);
  }));

  router.get(['/search', '/search/*'], handle(async (request, response) => {
    const name = String(request.query.name ?? '*');
    const found = await files.find(pathOf(request), { options: ['-type', 'f', '-name', name, '-printf', '%P\n'] });
    response.json({ names: found.stdout.toString().split('\n').filter(Boolean).sort(), truncated: found.truncated });
  }));

  return router;
}

function writing(files) {
  const router = express.Router();

  router.put('/file/*', express.raw({ type: () => true, limit: LIMIT }), handle(async (request, response) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    await files.writeFile(pathOf(request), body, true);
    response.status(204).end();
  }));

  // {patch, sha256}: as little as an editor has to send. 412 means: send all of it.
  router.patch('/file/*', express.json({ limit: LIMIT }), handle(async (request, response) => {
    const { patch, sha256 } = request.body ?? {};
    if (!Array.isArray(patch) || typeof sha256 !== 'string') {
      response.status(400).json({ code: 'EINVAL', message: 'patch and sha256 are needed' });
      return;
    }
    await files.writeFile(pathOf(request), { patch, sha256 }, true);
    response.status(204).end();
  }));

  // {content, base}: the same for clients that make no patches themselves.
  router.post('/delta/*', express.json({ limit: LIMIT }), handle(async (request, response) => {
    const { base } = request.body ?? {};
    await files.writeFileDelta(pathOf(request), textOf(request, 'content'), { baseContents: base, saveLast: true });
    response.status(204).end();
  }));

  router.post('/directory/*', handle(async (request, response) => {
    await files.mkdir(pathOf(request), { recursive: true });
    response.status(204).end();
  }));

  router.post('/move/*', express.json(), handle(async (request, response) => {
    await files.move(pathOf(request), textOf(request, 'to'), { overwrite: request.body?.overwrite === true });
    response.status(204).end();
  }));

  router.delete('/file/*', handle(async (request, response) => {
    await files.rm(pathOf(request), { recursive: request.query.recursive === 'true' });
    response.status(204).end();
  }));

  return router;
}

/** Server-sent events. A client that does not read is waited for: the watch keeps the newest events. */
async function sendEvents(watch, response) {
  for await (const event of watch) {
    const ready = response.write(`event: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`);
    if (!ready && !response.destroyed) {
      await new Promise((resume) => {
        response.once('drain', resume);
        response.once('close', resume);
      });
    }
  }
}

function watching(files) {
  const router = express.Router();

  router.get(['/watch', '/watch/*'], handle(async (request, response) => {
    const controller = new AbortController();
    response.on('close', () => controller.abort());
    const watch = await files.watch(pathOf(request), {
      signal: controller.signal, stabilityThreshold: 0, maxQueue: 256, patch: true, closeOnUnlink: true,
    });
    response.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.flushHeaders();
    response.write(': armed\n\n');
    const alive = setInterval(() => response.write(': alive\n\n'), HEARTBEAT_MS);
    try {
      await sendEvents(watch, response);
    } finally {
      clearInterval(alive);
      response.end();
    }
  }));

  return router;
}

/** The last word: an error becomes a status, and its text is safe to show. */
function answerError(error, request, response, next) {
  if (response.headersSent) {
    next(error);
    return;
  }
  const outside = error instanceof URIError ? 400 : error.status;
  response.status(STATUS[error.code] ?? outside ?? 500);
  response.json({ code: error.code, message: error.message, path: error.path });
}

/** The application for one directory; `log` hears of every refusal. */
function service(directory, log = () => {}) {
  const files = new SandboxedFilesystem(directory);
  files.on('denial', log);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(reading(files), writing(files), watching(files));
  app.use((request, response) => response.status(404).json({ message: 'no such route' }));
  app.use(answerError);
  return app;
}

module.exports = { service };

if (require.main === module) {
  const [directory, port = '0'] = process.argv.slice(2);
  if (directory === undefined) {
    process.stderr.write('usage: node server.js DIRECTORY [PORT]\n');
    process.exit(2);
  }
  const log = (record) => process.stderr.write(`${JSON.stringify(record)}\n`);
  const server = service(directory, log).listen(Number(port), '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
  });
}
