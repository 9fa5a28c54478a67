/**
 * The minimum between `claude` and a page that still keeps Callboard's durability promises: pipes, events over
 * a WebSocket, HTTP for messages and answers, and one synced commit for each of those before it is written. The arguments
 * are the database and the command; it prints its port.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { WebSocketServer } from 'ws';
import { clock } from './clock.ts';

const [database = '', command = '', ...args] = process.argv.slice(2);
const store = new DatabaseSync(database);
store.exec('pragma journal_mode = wal; pragma synchronous = full;');
store.exec('create table said (id integer primary key, line text not null)');
const insert = store.prepare('insert into said (line) values (?)');

const claude = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
const server = createServer(async (request, response) => {
  const line = JSON.stringify(JSON.parse(await text(request)));
  const begun = clock();
  insert.run(line);
  const syncMs = clock() - begun;
  claude.stdin.write(`${line}\n`);
  response.end(JSON.stringify({ writtenAt: clock(), syncMs }));
});
const sockets = new WebSocketServer({ server });
createInterface({ input: claude.stdout }).on('line', (line) => {
  for (const socket of sockets.clients) socket.send(line);
});
process.once('SIGTERM', () => {
  claude.kill('SIGKILL');
  process.exit();
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' ? address?.port : address);
});
