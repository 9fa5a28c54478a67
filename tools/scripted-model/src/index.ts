export { claudeEnvironment } from './environment.ts';
export { named, prompt } from './marker.ts';
export { parseScripts } from './parse-scripts.ts';
export type { LoggedRequest, WaitOptions } from './request-log.ts';
export { Block, Script, Scripts, Step, StopReason, ToolCall, Usage } from './script.ts';
export { type ScriptedModel, type ScriptedModelOptions, startScriptedModel } from './scripted-model.ts';
export { type Swarm, startSwarm } from './start-swarm.ts';
export { emulatedConversations, writeEmulator } from './write-emulator.ts';
