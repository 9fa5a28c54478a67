import type { ErrorStep, StageId } from '@callboard/contract';
import { Button } from '@mantine/core';
import { type ComponentType, createContext, type ReactNode, useContext } from 'react';
import { failureText } from '../lib/api-client.ts';
import { describeError } from '../lib/error-steps.ts';
import { CommandText, CopyCommandOf } from './command-words.tsx';
import { CopyLine } from './copy-line.tsx';
import css from './error-note.module.css';
import { FailureNote } from './note.tsx';

/** The steps that need more than the place of the error: other pages, forms and commands. */
export type FarStep = Exclude<ErrorStep, 'try-again' | 'reload' | 'log-in'>;

export interface FarStepProps {
  step: FarStep;
  stageId: StageId | null;
  /** Called once the step is taken. */
  done: () => void;
}

/** Draws the button of a step that needs the rest of the page, or nothing if there is nothing to do here. */
const FarStepSlot = createContext<ComponentType<FarStepProps> | null>(null);
export const FarStepProvider = FarStepSlot.Provider;

interface ErrorProps {
  error: unknown;
  /** What did not happen, before the cause: "The stage was not created." */
  lead?: string;
  /** The lead is true whether it was done or not. */
  saysBoth?: boolean;
  /** Sends the same again. Left out where a button that does it stands beside. */
  retry?: (() => void) | undefined;
  isRetrying?: boolean;
  /** The stage that it is about. */
  stageId?: StageId | null | undefined;
  /** Called once a step is taken. */
  done?: () => void;
}

/** A failure in its place: the cause, one step, and below it what git said, folded. */
export const ErrorNote = (props: ErrorProps) => (
  <FailureNote>
    <ErrorBody {...props} />
  </FailureNote>
);

/** What an error says, and the one button that leads on. */
export function ErrorBody({
  error,
  lead,
  saysBoth = false,
  retry,
  isRetrying = false,
  stageId = null,
  done = () => undefined,
}: ErrorProps) {
  const { text, details, step } = describeError(error);
  return (
    <div className={css.error}>
      <div className={css.first}>
        <span className={css.words}>
          <CommandText text={lead === undefined ? text : `${saysBoth ? lead : failureText(lead, error)} ${text}`} />
        </span>
        {step === null ? (
          <CopyCommandOf text={text} />
        ) : (
          <Step step={step} stageId={stageId} retry={retry} isRetrying={isRetrying} done={done} />
        )}
      </div>
      {details !== null && (
        <details>
          <summary>Details</summary>
          <pre className={css.details}>{details}</pre>
        </details>
      )}
    </div>
  );
}

interface StepProps {
  step: ErrorStep;
  stageId: StageId | null;
  retry: (() => void) | undefined;
  isRetrying: boolean;
  done: () => void;
}

/** Reads can always be repeated; a step of the code's own comes first. */
function Step({ step, stageId, retry, isRetrying, done }: StepProps) {
  const Far = useContext(FarStepSlot);
  const again = (act: () => void) => () => {
    act();
    done();
  };
  switch (step) {
    case 'try-again':
      return retry === undefined ? null : (
        <StepButton loading={isRetrying} onClick={again(retry)}>
          Try again
        </StepButton>
      );
    case 'reload':
      return <StepButton onClick={() => location.reload()}>Reload the page</StepButton>;
    case 'log-in':
      return <CopyLine text="npx callboard link" />;
    case 'refresh':
      if (retry !== undefined) return <StepButton onClick={again(retry)}>Refresh</StepButton>;
  }
  return Far === null ? null : <Far step={step} stageId={stageId} done={done} />;
}

interface StepButtonProps {
  loading?: boolean;
  onClick: () => void;
  children: ReactNode;
}

/** The button of a step. */
export const StepButton = ({ loading = false, onClick, children }: StepButtonProps) => (
  <Button className={css.step} size="compact-md" loading={loading} onClick={onClick}>
    {children}
  </Button>
);
