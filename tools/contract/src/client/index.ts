/** A typed client of Callboard, over HTTP or inside the orchestrator's process. Needs a platform with `fetch`. */
export { MessageId, ProjectId, RequestId, StageId } from '../ids.ts';
export {
  createMessageReader,
  type EventCheck,
  type RawMessage,
  readMessage,
  type StreamMessage,
} from './event-stream.ts';
export {
  type Attempt,
  createHttpClient,
  createHttpTransport,
  createStreamWatch,
  type HttpClient,
  type HttpClientOptions,
  type HttpTransportOptions,
  idempotencyHeaders,
  isLost,
  resend,
  type StreamWatch,
  type StreamWatchDeps,
} from './http-transport.ts';
export { createInProcessTransport, type InProcessTransportOptions } from './in-process-transport.ts';
export { pathFields, type Route, type RoutedCommand, routes, serviceRoutes, toRequest } from './routes.ts';
export type { CallOptions, FailureTexts } from './transport.ts';
export {
  type ClientCommand,
  type EventOptions,
  type StreamItem,
  type Transport,
  TransportError,
  type TransportErrorCode,
} from './transport.ts';
