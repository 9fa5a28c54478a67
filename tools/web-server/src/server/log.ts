import { type DestinationStream, type Logger, pino } from 'pino';

/** The loggable parts of a request. The path comes without its query, which may hold a login code. */
const request = ({ method, url }: { method?: string; url?: string }) => ({ method, path: url?.split('?', 1)[0] });

/** Creates the web server's log. It names requests but never shows headers, queries or bodies: they hold secrets. */
export const createLog = ({ level }: { level: string }, destination: DestinationStream): Logger =>
  pino({ name: 'web-server', level, serializers: { req: request } }, destination);
