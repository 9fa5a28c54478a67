import { type DestinationStream, type Logger, pino } from 'pino';

/** What may be told of a request: its address has no query in it, since a login code is part of one. */
const request = ({ method, url }: { method?: string; url?: string }) => ({ method, path: url?.split('?', 1)[0] });

/** The log of the web server. What comes in is named, never shown: headers, queries and bodies hold secrets. */
export const createLog = ({ level }: { level: string }, destination: DestinationStream): Logger =>
  pino({ name: 'web-server', level, serializers: { req: request } }, destination);
