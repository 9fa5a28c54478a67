import type { NewStage, Stage, StageDefaults, StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import type { ChosenPipeline } from './find-pipeline.ts';

/** Returns what the person chose, or else the project's defaults. */
export const chosenOf = (wanted: NewStage, { mode, model, effort }: StageDefaults) => ({
  permissionMode: wanted.permissionMode ?? mode ?? 'default',
  model: wanted.model === undefined ? (model ?? null) : wanted.model,
  effort: wanted.effort === undefined ? (effort ?? null) : wanted.effort,
});

/** Returns a stage that has not been started, with defaults for omitted fields. */
export const newStage = (wanted: NewStage, id: StageId, now: string, chosen: ChosenPipeline): Stage => ({
  id,
  projectId: wanted.projectId,
  title: wanted.title,
  prompt: wanted.prompt,
  promptIsCommand: wanted.promptIsCommand ?? false,
  attachments: [],
  dependsOn: [...new Set(wanted.dependsOn)],
  priority: wanted.priority ?? 2,
  permissionMode: wanted.permissionMode ?? 'default',
  model: wanted.model ?? null,
  effort: wanted.effort ?? null,
  base: wanted.base ?? null,
  branch: wanted.branch ?? null,
  group: wanted.group ?? null,
  sandbox: wanted.sandbox ?? null,
  autoStart: wanted.autoStart ?? false,
  held: wanted.held ?? false,
  heldBy: null,
  pipeline: chosen.pipeline ?? [],
  finish: chosen.finish ?? null,
  goesOnAtReset: wanted.goesOnAtReset ?? null,
  machine: wanted.machine ?? null,
  machineId: null,
  lost: null,
  source: null,
  sourceSign: null,
  issue: null,
  adopted: null,
  origin: null,
  completedAt: null,
  merged: null,
  pullRequest: null,
  finishing: null,
  worktree: null,
  setup: null,
  fork: null,
  createdAt: now,
  updatedAt: now,
});

/** What a pin to a machine means where there is one. @throws Rejection `unknown_machine` */
export const refusePin = (): Promise<never> =>
  Promise.reject(new Rejection('unknown_machine', 'This Callboard has one machine, so none can be chosen.'));
