/** A typed client of Callboard, over HTTP or within the orchestrator's process. Needs a platform with `fetch`. */
export { createHttpTransport, type HttpTransportOptions } from './http-transport.ts';
export { createInProcessTransport, type InProcessTransportOptions } from './in-process-transport.ts';
export { pathFields, type Route, type RoutedCommand, routes, toRequest } from './routes.ts';
export { readMessages } from './sse-reader.ts';
export {
  type ClientCommand,
  type EventOptions,
  type StreamItem,
  type Transport,
  TransportError,
  type TransportErrorCode,
} from './transport.ts';
