export { parseScripts } from './parse-scripts.ts';
export { named, prompt } from './prompt.ts';
export { Block, Script, Scripts, Step, StopReason, ToolCall, Usage } from './script.ts';
export type { LoggedRequest, WaitOptions } from './scripted-model.ts';
export {
  claudeEnvironment,
  type ScriptedModel,
  type ScriptedModelOptions,
  startScriptedModel,
} from './scripted-model.ts';
