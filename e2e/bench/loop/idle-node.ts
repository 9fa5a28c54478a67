/** A Node that does nothing: how late it is tells of the machine alone. */
process.stdin.resume().once('end', () => process.exit());
