import { NewStage } from '@callboard/contract';

/** What the new-stage form holds, as it was typed. */
export interface StageForm {
  title: string;
  projectId: string;
  prompt: string;
  dependsOn: string[];
  priority: string;
  permissionMode: string;
  startNow: boolean;
}

export type FieldErrors = Partial<Record<keyof StageForm, string>>;

export const emptyStageForm = (projectId: string): StageForm => ({
  title: '',
  projectId,
  prompt: '',
  dependsOn: [],
  priority: '2',
  permissionMode: 'default',
  startNow: false,
});

const NAMES: Partial<Record<keyof StageForm, string>> = {
  title: 'The title',
  prompt: 'The prompt',
  projectId: 'The project',
  dependsOn: 'Depends on',
};

/** The stage as it is sent, or what is wrong with each field, in words. */
export function readStageForm(form: StageForm): { stage: NewStage } | { errors: FieldErrors } {
  const { startNow: _, priority, ...rest } = form;
  const parsed = NewStage.safeParse({ ...rest, priority: Number(priority) });
  if (parsed.success) return { stage: parsed.data };
  const errors: FieldErrors = {};
  for (const issue of parsed.error.issues) {
    const field = issue.path[0] as keyof StageForm;
    errors[field] ??= `${NAMES[field] ?? 'This'} ${words(field, form, issue.message)}.`;
  }
  return { errors };
}

function words(field: keyof StageForm, form: StageForm, message: string): string {
  const value = form[field];
  if (typeof value !== 'string') return message;
  if (value.trim() === '') return field === 'projectId' ? 'is missing; choose one or add one' : 'is empty';
  return field === 'title' ? 'is longer than 300 characters' : message;
}
