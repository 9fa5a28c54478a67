/**
 * `relay-main.ts <from> <to>`: passes connections on, in the network that it was started in. Each side is a port on the loopback
 * address, or the path of a socket. Says when it listens; ends with its standard input.
 */
import { connect, createServer, type NetConnectOpts } from 'node:net';

const [from = '', to = ''] = process.argv.slice(2);

const addressOf = (text: string): NetConnectOpts & { port?: number; host?: string; path?: string } =>
  /^\d+$/.test(text) ? { port: Number(text), host: '127.0.0.1' } : { path: text };

const server = createServer({ noDelay: true }, (client) => {
  const target = connect({ ...addressOf(to), noDelay: true });
  for (const side of [client, target]) {
    side.on('error', () => {
      client.destroy();
      target.destroy();
    });
  }
  client.pipe(target).pipe(client);
});
server.listen(addressOf(from), () => console.log('ready'));
process.stdin.resume().on('end', () => process.exit());
