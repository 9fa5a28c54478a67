import type { FieldErrors, StageForm } from '../model/stage-form.ts';

/** What each part of the stage's form works on. */
export interface PartProps {
  form: StageForm;
  set: (change: Partial<StageForm>) => void;
  errors: FieldErrors;
}
