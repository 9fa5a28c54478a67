/** What Callboard can find out about the machine and its `claude`, for `callboard doctor` and for the board. */
export { OLDEST_CLAUDE, tooOld } from '../claude/program/claude-program.ts';
export { findLogin, type LoginSources } from './find-login.ts';
export { type HandshakeLimits, type HandshakeOptions, runHandshake } from './handshake.ts';
export { askLogin, type InstalledClaude, inspectClaude } from './inspect-claude.ts';
export { inspectSandbox } from './inspect-sandbox.ts';
export { inspectStore } from './inspect-store.ts';
export { KnownVersion, KnownVersions } from './known-versions.ts';
export { type FileSystemProbe, probeFileSystem } from './probe-file-system.ts';
export { HandshakeCheck, HandshakeReport, isWhole, type Regression, regressionOf } from './report.ts';
export { readLastReports, saveReport } from './report-file.ts';
