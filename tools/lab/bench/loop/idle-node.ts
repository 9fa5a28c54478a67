/** A Node that does nothing: its delays come from the machine alone. */
process.stdin.resume().once('end', () => process.exit());
