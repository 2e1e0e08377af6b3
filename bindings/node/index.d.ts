/// <reference types="node" />
import { EventEmitter } from 'node:events';
import { Dirent, Stats } from 'node:fs';

/** Options of a {@link SandboxedFilesystem}. */
export interface FilesystemOptions {
  /** No containment: only the mapping of paths applies, links are followed anywhere. */
  unsafeMode?: boolean;
  /** Every mutator fails. */
  readonly?: boolean;
  /** Host directory for absolute paths that no alias covers. It may be missing for a while. */
  rootfs?: string;
  /** Host directory for paths beneath the scratch alias. */
  scratch?: string;
  /** Where the scratch directory is seen. Default: `/scratch`. */
  scratchAlias?: string;
  /** Absolute paths that mean the home. Default: `/root`. */
  homeAliases?: string[];
  /** Label of backups, and the default project of heartbeats. Default: `global`. */
  host?: string;
  /** Host directory of the backups of {@link SandboxedFilesystem.rustic}. */
  rusticRepo?: string;
  /** Host directory for the snapshots of heartbeats. Default: they are in memory. */
  syncDir?: string;
  /** Opens {@link SandboxedFilesystem.link} in safe mode. */
  allowSafeModeHardlink?: boolean;
  /** Opens {@link SandboxedFilesystem.symlink} in safe mode. */
  allowSafeModeSymlink?: boolean;
  /** `act`: unlink, rm, rename, move, lstat and readlink act on a link that leads outside. */
  leafLinks?: 'refuse' | 'act';
  /** No link is followed at all. */
  strict?: boolean;
  /** No mount inside a base is entered. */
  noXdev?: boolean;
  /** What is on disk when a write returns. Default: `none`, which survives a crash of the process. */
  durability?: 'none' | 'data' | 'full';
  /** The largest file that readFile reads. Default: 2 GiB. */
  maxReadBytes?: number;
}

/** What every failed call rejects with. It is made of the request: no host path is in it. */
export interface FilesystemError extends Error {
  /** `ENOENT`, `EACCES`, `LOCK`, `ETAG_MISMATCH`, `PATCH_FAILED`, ... */
  code?: string;
  /** Negative, as Node has it. */
  errno?: number;
  syscall?: string;
  path?: string;
  dest?: string;
}

/** Node's own class, and the letter of a listing: f d l b c s p. */
export type FileStats = Stats & { type: string };

/** Node's own class; `type` is 0 unknown, 1 file, 2 directory, 3 link, 4 fifo, 5 socket, 6 and 7 devices. */
export type FileEntry<Name = string> = Omit<Dirent, 'name'> & { name: Name; parentPath: string; path: string; type: number };

/** What {@link SandboxedFilesystem.getListing} says of a name. */
export interface ListingEntry {
  /** Milliseconds since the epoch. */
  mtime: number;
  size: number;
  /** f d l b c s p; links are not followed. */
  type: string;
  isDir?: true;
  isSymLink?: true;
  linkTarget?: string;
}

/** One place of a patch: what to keep (0), delete (-1) and insert (1), and where, in UTF-16 units. */
export type PatchHunk = [diffs: [-1 | 0 | 1, string][], start1: number, start2: number, length1: number, length2: number];

/** A write that is made of a patch, if the file still has the content it was made from. */
export interface PatchRequest {
  patch: PatchHunk[] | string;
  /** Lowercase hex SHA-256 of the content that is to be there. */
  sha256: string;
  encoding?: 'utf8' | 'utf-8';
}

/** Options of {@link SandboxedFilesystem.cp}. */
export interface CpOptions {
  recursive?: boolean;
  /** Copy what links lead to; one that leads outside fails. */
  dereference?: boolean;
  /** Default: true. */
  force?: boolean;
  /** With `force: false`: fail with ERR_FS_CP_EEXIST. */
  errorOnExist?: boolean;
  preserveTimestamps?: boolean;
  /** Links are always copied as they are. */
  verbatimSymlinks?: boolean;
  /** Always tried. */
  reflink?: boolean;
  /** Milliseconds, after which the call fails with ECANCELED. */
  timeout?: number;
  /** Stops between two files; what was copied stays. */
  signal?: AbortSignal;
}

/** Options of {@link SandboxedFilesystem.rm}. */
export interface RmOptions {
  recursive?: boolean;
  /** A path that does not exist is no error. */
  force?: boolean;
  /** Stops between two entries; what was removed stays removed. */
  signal?: AbortSignal;
}

/** Options of {@link SandboxedFilesystem.watch}. */
export interface WatchOptions {
  /** How many events wait to be taken. Default: 2048. */
  maxQueue?: number;
  /** What happens to more: the oldest is dropped (`ignore`), or the watch fails (`throw`). */
  overflow?: 'ignore' | 'throw';
  signal?: AbortSignal;
  /** End after the watched path itself went away. */
  closeOnUnlink?: boolean;
  /** Attach stats to add and change. */
  stats?: boolean;
  /** Attach a patch where the old content is known (writeFile with saveLast). */
  patch?: boolean;
  /** Accepted; each call has a watch of its own. */
  unique?: boolean;
  /** How long a size must be stable, in milliseconds. 0: events at once. Default: 500. */
  stabilityThreshold?: number;
  /** Must be 0: there is no polling. */
  pollInterval?: number;
}

/** An event of {@link Watch}. */
export interface WatchEvent {
  event: 'add' | 'addDir' | 'change' | 'unlink' | 'unlinkDir';
  /** Relative to what is watched; empty: that itself. */
  filename: string;
  stats?: FileStats;
  patch?: PatchHunk[];
  patchSeq?: number;
}

/** Events of one path. */
export interface Watch extends AsyncIterableIterator<WatchEvent> {
  next(): Promise<IteratorResult<WatchEvent, undefined>>;
  /** No event comes any more. */
  end(): void;
  /** As {@link Watch.end}. */
  close(): void;
  /** Events that wait to be taken. */
  queueSize(): number;
  /** Drops events for so many milliseconds; 0 ends that. */
  ignore(ms: number): void;
}

/** Says who edits, in {@link SandboxedFilesystem.syncFsWatch}. */
export interface SyncInfo {
  project_id?: string;
  relativePath?: string;
  string_id?: string;
  history_epoch?: number;
  doctype?: { type: string; patch_format?: number; opts?: unknown };
}

/** The event `sync`: somebody else changed a file that is being edited. */
export interface SyncEvent {
  path: string;
  type: 'change' | 'delete';
  change: { content: string; hash: string; deleted: boolean; patch?: PatchHunk[] };
  info: SyncInfo & { project_id: string; relativePath: string; string_id: string };
}

/** The event `denial`: a call was refused. */
export interface DenialRecord {
  method: string;
  mode: 'safe';
  path: string;
  code: string;
  message: string;
}

/** Options of the tools. */
export interface ToolOptions {
  /** A flat list, checked against what the tool may be told. */
  options?: string[];
  /** Added on Linux. */
  linux?: string[];
  /** Milliseconds, less than the cap of the tool; rustic has none, and two minutes unless it is given. */
  timeout?: number;
  /** Bytes of output, at most 10,000,000. */
  maxSize?: number;
  /** Ends the tool and everything it started. */
  signal?: AbortSignal;
}

/** How a tool ended. A code that is not 0 is no error; null: it was ended. */
export interface ToolResult {
  stdout: Buffer;
  stderr: Buffer;
  code: number | null;
  /** It took too long or wrote too much. */
  truncated: boolean;
}

/** Emits `sync` ({@link SyncEvent}) and `denial` ({@link DenialRecord}). */
export class SandboxedFilesystem extends EventEmitter {
  /** `path` is the home: a directory of the host. Nothing is opened before it is needed. */
  constructor(path: string, options?: FilesystemOptions);
  readonly unsafeMode: boolean;
  readonly readonly: boolean;
  readonly host: string;

  /** Adds to a file, which is made if it is missing. */
  appendFile(path: string, data: string | ArrayBufferView, encoding?: BufferEncoding): Promise<void>;
  /** Follows links inside. */
  chmod(path: string, mode: number | string): Promise<void>;
  /** The numbers of Node's `fs.constants`. */
  constants(): Promise<{ [name: string]: number }>;
  /** Content and mode of a regular file. */
  copyFile(src: string, dest: string): Promise<void>;
  /** A tree or a file to `dest`, or a list into the directory `dest`. */
  cp(src: string | string[], dest: string, options?: CpOptions): Promise<void>;
  /** False for what is missing and for a link that leads nowhere. */
  exists(path: string): Promise<boolean>;
  /** Runs find(1). */
  find(path: string, options?: ToolOptions): Promise<ToolResult>;
  /** Runs fd(1). */
  fd(path: string, options?: ToolOptions & { pattern?: string }): Promise<ToolResult>;
  /** Runs dust(1). */
  dust(path: string, options?: ToolOptions): Promise<ToolResult>;
  /** Runs ouch(1): compress, decompress or list, and paths. */
  ouch(args: string[], options?: ToolOptions & { cwd?: string }): Promise<ToolResult>;
  /** Runs rustic(1): backup, snapshots, restore or forget. */
  rustic(args: string[], options?: ToolOptions & { cwd?: string }): Promise<ToolResult>;
  /** Runs rg(1). */
  ripgrep(path: string, pattern: string, options?: ToolOptions): Promise<ToolResult>;
  /** All names of a directory with type, size and time. */
  getListing(path: string): Promise<{ files: { [name: string]: ListingEntry }; truncated: boolean }>;
  /** Makes a hard link; closed unless allowed. */
  link(existingPath: string, newPath: string): Promise<void>;
  /** Locks a path against readFile for so many milliseconds; none: unlocks. */
  lockFile(path: string, lock?: number): Promise<void>;
  lstat(path: string): Promise<FileStats>;
  mkdir(path: string, options?: number | string | { recursive?: boolean; mode?: number | string }): Promise<void>;
  /** Renames, makes missing parents, and keeps an existing destination unless told otherwise. */
  move(src: string, dest: string, options?: { overwrite?: boolean }): Promise<void>;
  /** Bytes. `lock`: fails with LOCK if the path is locked, else locks it for so many milliseconds. */
  readFile(path: string, encoding?: null, lock?: number): Promise<Buffer>;
  /** Text. */
  readFile(path: string, encoding: BufferEncoding, lock?: number): Promise<string>;
  /** Sorted by bytes. */
  readdir(path: string, options?: { recursive?: boolean; withFileTypes?: false; encoding?: BufferEncoding }): Promise<string[]>;
  /** Names that are no UTF-8 survive. */
  readdir(path: string, options: { recursive?: boolean; withFileTypes?: false; encoding: 'buffer' } | 'buffer'): Promise<Buffer[]>;
  /** Entries with types. */
  readdir(path: string, options: { recursive?: boolean; withFileTypes: true; encoding?: BufferEncoding }): Promise<FileEntry[]>;
  /** The text of a link. */
  readlink(path: string): Promise<string>;
  /** Where a path leads, written as the request was. */
  realpath(path: string): Promise<string>;
  rename(oldPath: string, newPath: string): Promise<void>;
  /** Removes files, or trees with `recursive`; links are never followed. */
  rm(path: string | string[], options?: RmOptions): Promise<void>;
  rmdir(path: string, options?: { recursive?: boolean }): Promise<void>;
  /** Follows links inside. */
  stat(path: string): Promise<FileStats>;
  /** `target` is a path of this filesystem; closed unless allowed. */
  symlink(target: string, path: string): Promise<void>;
  truncate(path: string, len?: number): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Times are dates, or seconds. */
  utimes(path: string, atime: number | string | Date, mtime: number | string | Date): Promise<void>;
  /** Resolves when the watch is armed. */
  watch(path: string, options?: WatchOptions): Promise<Watch>;
  /** Atomic, unless it has to write in place (several names, a directory or owner that cannot be changed). `saveLast`: remember it for watchers. */
  writeFile(path: string, data: string | ArrayBufferView | PatchRequest, saveLast?: boolean): Promise<void>;
  /** Sends a patch where that is worth it; fails with ETAG_MISMATCH if the file is not `baseContents`. */
  writeFileDelta(path: string, content: string | ArrayBufferView, options?: { baseContents?: string; saveLast?: boolean; minLength?: number }): Promise<void>;
  /** Somebody edits `path`, or stopped to. Interest lapses after 60 s. See the event `sync`. */
  syncFsWatch(path: string, active?: boolean, info?: SyncInfo): Promise<void>;
  /** Where a path is on the host; for display and tests, never to work on. */
  safeAbsPath(path: string): Promise<string>;
  safeAbsPaths(path: string | string[]): Promise<string[]>;
  /** Ends what follows edited files. Nothing else needs an end. */
  close(): void;

  on(event: 'sync', listener: (event: SyncEvent) => void): this;
  on(event: 'denial', listener: (record: DenialRecord) => void): this;
}

/** A profile's name (`stage`, `module`, `limits`, `test`, `agent`) or a document, see cordon-policy(5). */
export type Policy = string | { [key: string]: unknown };

/** What the ledger says of one capability. */
export interface Enforcement {
  requested: unknown;
  /** Proven, not hoped for. */
  applied: boolean;
  mechanism: string;
  details: string;
}

/** The result document, see schema/result.schema.json. */
export interface Result {
  version: 2;
  status: string;
  rc: number;
  reason: string;
  stdout: string;
  stderr: string;
  duration_ms: number;
  cmd: string[];
  traceId: string;
  enforced: { [capability: string]: Enforcement };
  [key: string]: unknown;
}

/** Options of {@link run}. */
export interface RunOptions {
  /** Ends everything inside; the promise rejects with an AbortError that has the result. */
  signal?: AbortSignal;
  /** Gets output while the command runs: what is captured, so nothing beyond the policy's `output_bytes`, and at most 64 MiB. */
  onStdout?: (bytes: Buffer) => void;
  /** The same of standard error. */
  onStderr?: (bytes: Buffer) => void;
  /** Standard input. */
  input?: string | Uint8Array;
  /** Instead of the environment of this process; the policy passes a part of it. What is undefined is left out. */
  env?: { [name: string]: string | undefined };
  /** The policy's `wall_ms`, a whole number above 0. */
  timeoutMs?: number;
  /** 32 hex digits. */
  traceId?: string;
}

/** Runs a command under a policy (default: the profile `stage`). Rejects unless it ends with 0. */
export function run(command: string[], policy?: Policy, options?: RunOptions): Promise<Result>;

/** What this host can enforce, why not, and how to get it: `cordon doctor --json`. */
export function doctor(options?: { profile?: string }): Promise<{ [key: string]: unknown }>;

/** Options of {@link call}. */
export interface CallOptions {
  /** The directory of the modules. Default: `$APCORE_EXTENSIONS_ROOT`, or `./extensions`. */
  extensions?: string;
  /** What the module runs under. Default: the profile `module`. */
  policy?: Policy;
  /** The most that its manifest may ask for. Default: `policy`. */
  within?: Policy;
  /** Whatever the module asks for; a whole number above 0. */
  timeoutMs?: number;
  env?: { [name: string]: string | undefined };
  traceId?: string;
  /** The program that loads library modules. */
  runner?: string;
  /** Ends everything inside; the promise rejects with an AbortError that has the result. */
  signal?: AbortSignal;
}

/** Calls a module with one JSON value; resolves to the value that it gives. */
export function call(moduleId: string, input?: unknown, options?: CallOptions): Promise<any>;

/** Of the library that is running. */
export function version(): string;

/** A command or a module did not do what was asked of it. */
export class SandboxError extends Error {
  /** The status of the result, or what was wrong with the request. */
  code: string;
  /** Undefined if nothing was tried. */
  result?: Result;
}
/** It was ended at its time limit. */
export class TimeoutError extends SandboxError {}
/** It ended with another status than 0, by a signal, or at another limit. */
export class NonZeroExitError extends SandboxError {}
/** It ended well, but its output is not one JSON value. */
export class OutputParseError extends SandboxError {}
/** Nothing ran: the policy is wrong, the command is missing, or no sandbox could be made. */
export class SpawnError extends SandboxError {
  layer?: string;
  remedy?: string;
}
