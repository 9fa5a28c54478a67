/** What a machine among several uses of the orchestrator, beside its store. */
export type { StartContext } from '../compose/context.ts';
export type { BeginDeps, RecoveryDeps, SharedStores, Workload } from '../compose/membership.ts';
export { launchesIn } from '../core/claude/claude-process.ts';
export type { Claims } from '../core/launch/begin-launch.ts';
export { ELSEWHERE, type StartGate } from '../core/launch/scheduler.ts';
export { changeSession } from '../core/session/change-session.ts';
export { loseStage } from '../core/session/end-launch.ts';
export { addNotice, type Notice } from '../core/session/session-change.ts';
export type { Worktrees } from '../core/worktrees/worktrees.ts';
export type { Machines } from '../features/machines/machines.ts';
export type { Installations } from '../features/projects/projects.ts';
export { type OrphanFate, orphanFate, type Trash } from '../features/trash/trash.ts';
export { type CommandRouter, RelayedError } from '../gateway/execute-command.ts';
export { type GatewayPeers, PEER_PATH, type PeerFrame } from '../gateway/gateway.ts';
export { VERSION } from '../version.ts';
