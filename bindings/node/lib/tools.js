'use strict';

const check = require('./arguments.js');
const native = require('./native.js');

const textList = (list) => (Array.isArray(list) ? list.map(String) : []);

/** Runs a tool in a sandbox of its own; a status that is not 0 is no error. */
function run(root, tool, args, options) {
  const flat = [...textList(options.options),
    ...textList(process.platform === 'linux' ? options.linux : options.darwin)];
  return new Promise((resolve, reject) => {
    native.tool(root, tool, args.map(check.path), flat, check.milliseconds(options.timeout),
      check.milliseconds(options.maxSize), options.cwd, (error, answer) => {
        if (error !== undefined) return reject(error);
        const [stdout, stderr, code, truncated] = answer;
        return resolve({ stdout, stderr, code: code < 0 ? null : code, truncated });
      });
  });
}

module.exports = { run };
