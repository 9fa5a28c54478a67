/**
 * `relay-main.ts <from> <to>`: passes connections on, in the network that it was started in. Each side is a port on the loopback
 * address or another one (`address:port`), or the path of a socket. Says when it listens; ends with its standard input.
 */
import { connect, createServer, type NetConnectOpts } from 'node:net';

const [from = '', to = ''] = process.argv.slice(2);

function addressOf(text: string): NetConnectOpts & { port?: number; host?: string; path?: string } {
  const [, host = '127.0.0.1', port] = /^(?:([\d.]+):)?(\d+)$/.exec(text) ?? [];
  return port === undefined ? { path: text } : { port: Number(port), host };
}

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
