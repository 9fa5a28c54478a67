/** What Callboard can find out about the machine and its `claude`, for `callboard doctor` and for the board. */
export { OLDEST_CLAUDE, tooOld } from '../core/claude/claude-program.ts';
export { type HandshakeLimits, type HandshakeOptions, runHandshake } from './handshake.ts';
export {
  askLogin,
  type FileSystemProbe,
  type InstalledClaude,
  inspectClaude,
  inspectSandbox,
  inspectStore,
  probeFileSystem,
} from './inspect.ts';
export { findLogin, type LoginSources } from './login-watch.ts';
export { KnownVersion, KnownVersions } from './promises.ts';
export {
  HandshakeCheck,
  HandshakeReport,
  isWhole,
  type Regression,
  readLastReports,
  regressionOf,
  saveReport,
} from './report.ts';
