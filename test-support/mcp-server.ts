/** An MCP server over stdio: a program that `claude` starts in tests, and its configuration. */
import { existsSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

interface McpServerOptions {
  /** Creates this file when it starts. */
  mark?: string;
  /** Fails at its start while this file exists. */
  failsWhile?: string;
  /** What it then prints on its stderr. */
  says?: string;
  /**
   * The names of its tools. `where` says whether the server runs inside the sandbox, `ask_name` asks the person for a
   * name through a form, any other does nothing.
   */
  tools?: readonly string[];
}

/** The value of `mcpServers` in a configuration of Claude Code. */
export const mcpServer = (options: McpServerOptions = {}) => ({
  type: 'stdio',
  command: process.execPath,
  args: [fileURLToPath(import.meta.url), JSON.stringify(options)],
  env: {},
});

const REQUESTED_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name'],
};

function serve({ mark, failsWhile, says, tools = [] }: McpServerOptions): void {
  if (mark !== undefined) writeFileSync(mark, '');
  if (failsWhile !== undefined && existsSync(failsWhile)) {
    if (says !== undefined) writeSync(2, `${says}\n`);
    process.exit(3);
  }
  const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const text = (text: string) => ({ content: [{ type: 'text', text }] });
  let asking: number | string | undefined;
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params, result } = JSON.parse(line);
    if (method === 'initialize') {
      const serverInfo = { name: 'x', version: '1' };
      send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
    } else if (method === 'tools/list') {
      send({
        id,
        result: { tools: tools.map((name) => ({ name, description: name, inputSchema: { type: 'object' } })) },
      });
    } else if (method === 'tools/call' && params.name === 'ask_name') {
      asking = id;
      const asked = { message: 'Your name?', requestedSchema: REQUESTED_SCHEMA };
      send({ id: 'ask', method: 'elicitation/create', params: asked });
    } else if (method === 'tools/call' && params.name === 'where') {
      send({ id, result: text(process.env.SANDBOX_RUNTIME ? 'inside' : 'outside') });
    } else if (id === 'ask') {
      send({ id: asking, result: text(`answer: ${JSON.stringify(result)}`) });
    } else if (id !== undefined) {
      send({ id, result: {} });
    }
  });
}

if (import.meta.main) serve(JSON.parse(process.argv[2] ?? '{}'));
