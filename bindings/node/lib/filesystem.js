'use strict';

const crypto = require('node:crypto');
const EventEmitter = require('node:events');
const nodePath = require('node:path').posix;

const { flagged } = require('./abort.js');
const check = require('./arguments.js');
const native = require('./native.js');
const shapes = require('./shapes.js');
const tools = require('./tools.js');
const { Watch } = require('./watch.js');

const rootFlags = {
  readonly: 1, unsafeMode: 2, strict: 4, noXdev: 8, allowSafeModeHardlink: 16,
  allowSafeModeSymlink: 32,
};
const LEAF_LINKS_ACT = 64;
const durabilities = { none: 0, data: 1, full: 2 };
const rootOptions = [
  ...Object.keys(rootFlags), 'leafLinks', 'durability', 'rootfs', 'scratch', 'scratchAlias', 'homeAliases', 'host',
  'rusticRepo', 'syncDir', 'maxReadBytes',
];
const denied = new Set(['EACCES', 'EPERM', 'ESTALE']);

function openRoot(path, options) {
  check.options(options, rootOptions);
  check.word('leafLinks', options.leafLinks, ['refuse', 'act']);
  check.word('durability', options.durability, Object.keys(durabilities));
  check.list('homeAliases', options.homeAliases);
  check.positive('maxReadBytes', options.maxReadBytes);
  let flags = options.leafLinks === 'act' ? LEAF_LINKS_ACT : 0;
  for (const [name, bit] of Object.entries(rootFlags)) if (options[name]) flags |= bit;
  return native.rootOpen({
    path, flags,
    rootfs: options.rootfs, scratch: options.scratch, scratchAlias: options.scratchAlias,
    homeAliases: options.homeAliases, host: options.host, syncDir: options.syncDir,
    rusticRepo: options.rusticRepo, durability: durabilities[options.durability] ?? 0,
    maxReadBytes: options.maxReadBytes ?? 0,
  });
}

function isPatchRequest(data) {
  return data !== null && typeof data === 'object' && !ArrayBuffer.isView(data) &&
    data.patch !== undefined && typeof data.sha256 === 'string';
}

class SandboxedFilesystem extends EventEmitter {
  #root;
  #sync = null; // handle of the thread that follows edited files
  #editors = new Map(); // path of a heartbeat -> its info

  constructor(path, options = {}) {
    super();
    if (typeof path !== 'string' || path === '') throw new TypeError('path must be a directory of the host');
    this.unsafeMode = Boolean(options.unsafeMode);
    this.readonly = Boolean(options.readonly);
    this.host = options.host ?? 'global';
    // Not enumerable: an object that is printed or sent shows no location of the host.
    Object.defineProperty(this, 'bases', {
      value: Object.freeze({
        home: path, rootfs: options.rootfs, scratch: options.scratch,
        scratchAlias: options.scratchAlias ?? '/scratch', homeAliases: options.homeAliases ?? ['/root'],
      }),
    });
    this.#root = openRoot(path, options);
  }

  // Every call goes through here; whoever listens for denials hears of them.
  #heard(method, path, promise) {
    return this.listenerCount('denial') === 0 ? promise : promise.catch((error) => this.#deny(method, path, error));
  }

  #call(method, path, ...rest) {
    return this.#heard(method, path, native[method](this.#root, path, ...rest));
  }

  #tool(tool, args, options) {
    return this.#heard(tool, args.at(-1), tools.run(this.#root, tool, args, options));
  }

  #deny(method, path, error) {
    if (!this.unsafeMode && denied.has(error.code)) {
      const requested = error.path ?? (Array.isArray(path) ? path[0] : path);
      this.emit('denial', { method, mode: 'safe', path: requested, code: error.code, message: error.message });
    }
    throw error;
  }

  async appendFile(path, data, encoding) {
    return this.#call('appendFile', check.path(path), check.data(data, encoding));
  }

  async chmod(path, mode) {
    return this.#call('chmod', check.path(path), check.mode(mode));
  }

  async constants() {
    return native.constants();
  }

  async copyFile(src, dest) {
    return this.#call('copyFile', check.path(src), check.path(dest));
  }

  async cp(src, dest, options = {}) {
    const list = Array.isArray(src);
    const flags = check.flags({ ...options, keepExisting: options.force === false, list },
      'recursive', 'dereference', 'keepExisting', 'errorOnExist', 'preserveTimestamps', 'list');
    const from = (list ? src : [src]).map(check.path);
    check.path(dest);
    return flagged(options.signal, (stop) => this.#call('cp', from, dest, flags,
      check.milliseconds(options.timeout), stop));
  }

  async exists(path) {
    return this.#call('exists', check.path(path));
  }

  async getListing(path) {
    return shapes.listing(await this.#call('getListing', check.path(path)));
  }

  async link(existingPath, newPath) {
    return this.#call('link', check.path(existingPath), check.path(newPath));
  }

  async lockFile(path, lock) {
    return this.#call('lockFile', check.path(path), check.milliseconds(lock));
  }

  async lstat(path) {
    return shapes.stats(await this.#call('lstat', check.path(path)));
  }

  async mkdir(path, options) {
    const given = options !== null && typeof options === 'object' ? options : { mode: options };
    return this.#call('mkdir', check.path(path), check.flags(given, 'recursive'), check.mode(given.mode, 0o777));
  }

  async move(src, dest, options) {
    return this.#call('move', check.path(src), check.path(dest), check.flags(options, 'overwrite'));
  }

  async readFile(path, encoding, lock) {
    const name = check.encoding(encoding);
    const bytes = await this.#call('readFile', check.path(path), check.milliseconds(lock));
    return name === undefined ? bytes : bytes.toString(name);
  }

  async readdir(path, options) {
    const given = typeof options === 'string' ? { encoding: options } : options ?? {};
    const flags = check.flags({ ...given, bytes: given.encoding === 'buffer' }, 'recursive', 'withFileTypes', 'bytes');
    const list = await this.#call('readdir', check.path(path), flags);
    return given.withFileTypes ? shapes.dirents(list) : list;
  }

  async readlink(path) {
    return this.#call('readlink', check.path(path));
  }

  async realpath(path) {
    return this.#call('realpath', check.path(path));
  }

  async rename(oldPath, newPath) {
    return this.#call('rename', check.path(oldPath), check.path(newPath));
  }

  async rm(path, options) {
    const list = Array.isArray(path) ? path : [path];
    const flags = check.flags(options, 'recursive', 'force');
    return flagged(options?.signal, (stop) => this.#call('rm', list.map(check.path), flags, stop));
  }

  async rmdir(path, options) {
    return this.#call('rmdir', check.path(path), check.flags(options, 'recursive'));
  }

  async stat(path) {
    return shapes.stats(await this.#call('stat', check.path(path)));
  }

  async symlink(target, path) {
    return this.#call('symlink', check.path(target), check.path(path));
  }

  async truncate(path, len) {
    return this.#call('truncate', check.path(path), check.length(len));
  }

  async unlink(path) {
    return this.#call('unlink', check.path(path));
  }

  async utimes(path, atime, mtime) {
    return this.#call('utimes', check.path(path), check.seconds(atime), check.seconds(mtime));
  }

  async writeFile(path, data, saveLast) {
    const save = saveLast ? 1 : 0;
    if (isPatchRequest(data)) {
      const patch = typeof data.patch === 'string' ? data.patch : JSON.stringify(data.patch);
      return this.#heard('writeFile', path, native.writePatch(this.#root, check.path(path), patch, data.sha256, save));
    }
    return this.#call('writeFile', check.path(path), check.data(data), save);
  }

  async writeFileDelta(path, content, options = {}) {
    const { baseContents, saveLast, minLength = 1024 } = options;
    if (typeof content !== 'string') return this.writeFile(path, content, saveLast);
    return this.#call('writeFileDelta', check.path(path), content,
      typeof baseContents === 'string' ? baseContents : undefined, saveLast ? 1 : 0, minLength);
  }

  async watch(path, options = {}) {
    check.path(path);
    if (options.pollInterval) {
      throw new Error(`Polling file watchers are disabled (path='${path}', requested pollInterval=` +
        `${options.pollInterval}). Set pollInterval=0 or omit it.`);
    }
    check.signal(options.signal);
    return this.#heard('watch', path, Watch.open(this.#root, path, options));
  }

  async syncFsWatch(path, active = true, info = {}) {
    await this.#call('syncFsWatch', check.path(path), active ? 1 : 0);
    if (active) this.#editors.set(path, info);
    else this.#editors.delete(path);
    this.#sync ??= active ? native.sync(this.#root, this.#followSync()) : null;
  }

  // Holds the object weakly: the thread must not keep alive what nobody else does.
  #followSync() {
    const self = new WeakRef(this);
    return (path, type, content, patch, hash) => {
      const fs = self.deref();
      if (fs === undefined) return;
      const change = { content: content ?? '', hash, deleted: type === 'delete' };
      if (patch !== undefined) change.patch = JSON.parse(patch);
      fs.emit('sync', { path, type, change, info: fs.#syncInfo(path) });
    };
  }

  #syncInfo(path) {
    const info = this.#editors.get(path) ?? {};
    const project_id = info.project_id ?? this.host;
    const relativePath = info.relativePath ?? path;
    const string_id = info.string_id ??
      crypto.createHash('sha1').update(project_id).update(relativePath).digest('hex');
    return { ...info, project_id, relativePath, string_id };
  }

  async find(path, options = {}) {
    return this.#tool('find', [check.path(path)], options);
  }

  async fd(path, options = {}) {
    const pattern = options.pattern === undefined ? [] : [options.pattern];
    return this.#tool('fd', [check.path(path), ...pattern], options);
  }

  async ripgrep(path, pattern, options = {}) {
    if (pattern === undefined || pattern === '') throw new Error('pattern must be specified');
    return this.#tool('ripgrep', [check.path(path), pattern], options);
  }

  async dust(path, options = {}) {
    return this.#tool('dust', [check.path(path)], options);
  }

  async ouch(args, options = {}) {
    return this.#tool('ouch', args, options);
  }

  async rustic(args, options = {}) {
    return this.#tool('rustic', args, options);
  }

  // Where a path is on the host, if it leads inside; for display and tests. What is missing is not
  // checked, and nothing here works on the answer.
  async safeAbsPath(path) {
    await this.#call('realpath', check.path(path)).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
    });
    const { home, rootfs, scratch, scratchAlias, homeAliases } = this.bases;
    const name = nodePath.join('/', path).replace(/(.)\/$/, '$1');
    const beneath = (alias) => name === alias || name.startsWith(`${alias}/`);
    if (!path.startsWith('/')) return nodePath.join(home, name);
    const alias = homeAliases.find(beneath);
    if (alias !== undefined) return nodePath.join(home, name.slice(alias.length));
    if (beneath(scratchAlias)) return nodePath.join(scratch, name.slice(scratchAlias.length));
    return nodePath.join(rootfs ?? home, name);
  }

  async safeAbsPaths(path) {
    return Promise.all((Array.isArray(path) ? path : [path]).map((p) => this.safeAbsPath(p)));
  }

  /** Ends what follows edited files. Nothing else needs an end. */
  close() {
    if (this.#sync !== null) native.stop(this.#sync);
    this.#sync = null;
  }
}

module.exports = { SandboxedFilesystem };
