'use strict';

const native = require('../cordon.node');

// An environment that ends waits for what the pool is doing. Nobody will see the results, so what
// has not begun is dropped and long copies and deletes stop.
process.once('exit', native.leave);

module.exports = native;
