/** The emulated `claude`: see the package's README. Runs as plain JavaScript, written by `writeEmulator`. */
import { parseArgs } from 'node:util';
import { openConversation } from './conversation.ts';
import { createEmulatedClaude } from './emulated-claude.ts';
import { createLineCutter, readLine } from './input.ts';
import { createPrinter } from './printer.ts';

const { values } = parseArgs({
  strict: false, // the CLI has many more options, which have no effect here
  options: {
    resume: { type: 'string' },
    'session-id': { type: 'string' },
    'permission-mode': { type: 'string', default: 'default' },
    version: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

/** The emulated version, and the flags that Callboard looks for in the help. */
if (values.version || values.help) {
  const options = [
    '--effort <level>',
    '--forward-subagent-text',
    '--include-partial-messages',
    '--include-hook-events',
  ];
  const help = ['Options:', ...options.map((option) => `  ${option}`)];
  process.stdout.write(values.version ? '2.1.330 (Claude Code)\n' : `${help.join('\n')}\n`);
  process.exit(0);
}

const { HOME = '/' } = process.env;
const isResumed = values.resume !== undefined;
const sessionId = String(values.resume ?? values['session-id']);
const printer = createPrinter((text) => process.stdout.write(text), sessionId);
const conversation = openConversation(HOME, sessionId, process.cwd(), isResumed);
if (conversation === null) {
  const errors = [`No conversation found with session ID: ${sessionId}`];
  printer.message({ type: 'result', subtype: 'error_during_execution', is_error: true, errors });
  process.stderr.write(`${errors[0]}\n`);
  process.exit(1);
}

const take = createEmulatedClaude({
  conversation,
  printer,
  permissionMode: String(values['permission-mode']),
  cwd: process.cwd(),
  exit: (code) => process.exit(code),
});

process.stdin.setEncoding('utf8').on(
  'data',
  createLineCutter((text) => {
    try {
      take(readLine(text));
    } catch (error) {
      process.stderr.write(`Error parsing streaming input line: ${String(error)}\n`);
      process.exit(1);
    }
  }),
);
process.once('SIGTERM', () => process.exit(143));
