/** An MCP server over stdio with one tool, which asks the person for a name: the least that elicitation needs. */
import { createInterface } from 'node:readline';

const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
let call: number | string | undefined;

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, result, params } = JSON.parse(line);
  if (method === 'initialize') {
    const serverInfo = { name: 'asker', version: '1.0.0' };
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === 'tools/list') {
    const inputSchema = { type: 'object', properties: {} };
    send({ id, result: { tools: [{ name: 'ask_name', description: 'Asks for a name', inputSchema }] } });
  } else if (method === 'tools/call') {
    call = id;
    const requestedSchema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name'],
    };
    send({ id: 'ask', method: 'elicitation/create', params: { message: 'Your name?', requestedSchema } });
  } else if (id === 'ask') {
    send({ id: call, result: { content: [{ type: 'text', text: `answer: ${JSON.stringify(result)}` }] } });
  }
});
