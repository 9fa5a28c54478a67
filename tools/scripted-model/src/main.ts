import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { parseScripts } from './parse-scripts.ts';
import { startScriptedModel } from './scripted-model.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    scripts: { type: 'string' },
  },
});

const scripts = values.scripts === undefined ? {} : parseScripts(await readFile(values.scripts, 'utf8'));
const model = await startScriptedModel({ port: Number(values.port), host: values.host, scripts });

async function stop(): Promise<void> {
  process.stdin.destroy();
  await model.close();
}

process.stdin.resume().once('end', stop).once('error', stop);
process.once('SIGTERM', stop).once('SIGINT', stop);
process.stdout.write(`${JSON.stringify({ url: model.url })}\n`);
