import type { ModelChoice, SlashCommand } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import * as control from './wire/control.ts';

/** A description may be a page of instructions to the model; a list shows its beginning. */
const MAX_DESCRIPTION_LENGTH = 200;

/** What the answer to `initialize` says of commands and models; nothing for any other answer. */
export function offered(response: Record<string, unknown>): AgentEvent[] {
  const parsed = control.Offer.safeParse(response);
  if (!parsed.success) return [];
  const { commands, models } = parsed.data.response;
  if (commands.length + models.length === 0) return []; // any other answer
  return [
    {
      type: 'offered',
      capabilities: { commands: commands.flatMap(slashCommand), models: models.flatMap(modelChoice) },
    },
  ];
}

function slashCommand(command: (typeof control.Offer)['_output']['response']['commands'][number]): SlashCommand[] {
  // Two underscores are the CLI's own business (`__remote-workflow`).
  if (command === null || command.name.startsWith('__')) return [];
  const { name, argumentHint, aliases, builtin: isBuiltIn } = command;
  return [{ name, description: shortened(command.description), argumentHint, aliases, isBuiltIn }];
}

function modelChoice(model: (typeof control.Offer)['_output']['response']['models'][number]): ModelChoice[] {
  if (model === null) return [];
  const { value, resolvedModel: resolved = null, displayName: label = value, description } = model;
  const efforts = model.supportsEffort ? model.supportedEffortLevels : [];
  return [{ value, resolved, label, description: shortened(description), efforts }];
}

const shortened = (text: string): string =>
  text.length <= MAX_DESCRIPTION_LENGTH ? text : `${text.slice(0, MAX_DESCRIPTION_LENGTH - 1).trimEnd()}…`;
