/** A typed client of Callboard, over HTTP or inside the orchestrator's process. Needs a platform with `fetch`. */
export { MessageId, ProjectId, RequestId, StageId } from '../ids.ts';
export type { CallOptions, FailureTexts } from './call.ts';
export { createHttpClient, type HttpClient, type HttpClientOptions } from './http-client.ts';
export { createHttpTransport, type HttpTransportOptions } from './http-transport.ts';
export { createInProcessTransport, type InProcessTransportOptions } from './in-process-transport.ts';
export { type Attempt, idempotencyHeaders, isLost, resend } from './resend.ts';
export { pathFields, type Route, type RoutedCommand, routes, serviceRoutes, toRequest } from './routes.ts';
export {
  createMessageReader,
  type EventCheck,
  type RawMessage,
  readMessage,
  type StreamMessage,
} from './sse-reader.ts';
export { createStreamWatch, type StreamWatch, type StreamWatchDeps } from './stream-watch.ts';
export {
  type ClientCommand,
  type EventOptions,
  type StreamItem,
  type Transport,
  TransportError,
  type TransportErrorCode,
} from './transport.ts';
