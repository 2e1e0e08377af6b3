'use strict';

const native = load();

function load() {
  try {
    return require('../cordon.node');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error('cordon.node is missing: run `make node` at the top of the sources, which builds it', { cause: error });
  }
}

// An environment that ends waits for what the pool is doing. Nobody will see the results, so what
// has not begun is dropped and long copies and deletes stop.
process.once('exit', native.leave);

module.exports = native;
