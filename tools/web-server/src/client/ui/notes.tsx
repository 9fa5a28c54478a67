import type { ErrorStep, FinishProblem, StageId } from '@callboard/contract';
import { ActionIcon, Button, CopyButton, Group, Stack, Text, Tooltip } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCopy, IconInfoCircle } from '@tabler/icons-react';
import clsx from 'clsx';
import { type ComponentType, createContext, type ReactNode, useContext } from 'react';
import { failureText } from '../lib/api-client.ts';
import { describeError } from '../lib/error-steps.ts';
import { commandDeps, commandIn } from '../lib/isolation-text.ts';
import css from './notes.module.css';
import { Output } from './primitives.tsx';

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
    <Stack>
      <Group gap="8px 12px">
        <Text span inherit flex="1 1 24ch" miw={0}>
          <CommandText text={lead === undefined ? text : `${saysBoth ? lead : failureText(lead, error)} ${text}`} />
        </Text>
        {step === null ? (
          <CopyCommandOf text={text} />
        ) : (
          <Step step={step} stageId={stageId} retry={retry} isRetrying={isRetrying} done={done} />
        )}
      </Group>
      {details !== null && (
        <details>
          <summary>Details</summary>
          <Output>{details}</Output>
        </details>
      )}
    </Stack>
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
  <Button size="compact-md" loading={loading} onClick={onClick}>
    {children}
  </Button>
);

/** A message whose commands stand out from its words. */
export const CommandText = ({ text }: { text: string }) =>
  commandDeps(text).map(({ text: part, isCommand }) => (isCommand ? <code key={part}>{part}</code> : part));

/** The one step of a message that names a command: it copies that command. Nothing if it names none. */
export function CopyCommandOf({ text }: { text: string }) {
  const command = commandIn(text);
  if (command === null) return null;
  return (
    <CopyButton value={command} timeout={2_000}>
      {({ copied, copy }) => (
        <Button variant="default" size="compact-md" onClick={copy}>
          {copied ? 'Copied' : 'Copy command'}
        </Button>
      )}
    </CopyButton>
  );
}

/** A command or path with a button that copies it. */
export function CopyLine({ text, label = 'command' }: { text: string; label?: string }) {
  return (
    <div className={clsx(css.copy, 'flex-row')}>
      <code>{text}</code>
      <CopyButton value={text} timeout={2000}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : 'Copy'}>
            <ActionIcon variant="subtle" color="gray" aria-label={copied ? 'Copied' : `Copy ${label}`} onClick={copy}>
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </div>
  );
}

/** An inline note. */
export function Note({ children }: { children: ReactNode }) {
  return (
    <div className={css.note}>
      <IconInfoCircle size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}

/** An inline failure. Screen readers announce it at once. */
export function FailureNote({ children }: { children: ReactNode }) {
  return (
    <div className={css.note} data-kind="failure" role="alert">
      <IconAlertTriangle size={16} aria-hidden />
      <div>{children}</div>
    </div>
  );
}

interface FinishProblemNoteProps {
  problem: FinishProblem;
  isReading?: boolean;
  /** Looks again whether it is still so. */
  readAgain?: () => void;
}

/** Why a stage cannot be finished like this, or a code host not be asked: the cause, then one step: a command, a page, or to look again. */
export function FinishProblemNote({ problem, isReading = false, readAgain }: FinishProblemNoteProps) {
  const { message, command, url } = problem;
  const [cause = '', ...details] = message.split('\n');
  return (
    <FailureNote>
      <Stack>
        <span>{cause}</span>
        {command !== null && <CopyLine text={command} />}
        <Group justify="flex-end">
          {url !== null && (
            <Button component="a" href={url} target="_blank" rel="noreferrer" size="compact-md" variant="default">
              Open it by hand
            </Button>
          )}
          {readAgain !== undefined && (
            <Button size="compact-md" loading={isReading} onClick={readAgain}>
              Check again
            </Button>
          )}
        </Group>
        {details.length > 0 && (
          <details>
            <summary>Details</summary>
            <Output>{details.join('\n')}</Output>
          </details>
        )}
      </Stack>
    </FailureNote>
  );
}
