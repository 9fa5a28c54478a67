import type { StageId } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { failureText } from '../lib/api-client.ts';
import { describeError } from '../lib/error-steps.ts';
import { ErrorBody } from '../ui/notes.tsx';

interface Command<Input, Reply> {
  run: (input: Input) => Promise<Reply>;
  /** What did not work, as a heading: "Login form was not started". If absent, the caller shows the error. */
  failed?: string | ((input: Input) => string);
  /** The stage that it is about: a refusal may lead there. */
  stageId?: (input: Input) => StageId | null;
  done?: (reply: Reply, input: Input) => void;
}

/** Sends a command to the server. It is pending until the server answers; a refusal is shown as a notification, with its next step. */
export function useCommand<Input, Reply>(command: Command<Input, Reply>): UseMutationResult<Reply, Error, Input> {
  const mutation: UseMutationResult<Reply, Error, Input> = useMutation({
    mutationFn: command.run,
    onSuccess: command.done,
    onError(error, input) {
      const { failed, stageId } = command;
      if (failed === undefined) return;
      const title = typeof failed === 'function' ? failed(input) : failed;
      showFailure({ title, error, stageId: stageId?.(input) ?? null, retry: () => mutation.mutate(input) });
    },
  });
  return mutation;
}

interface Failure {
  title: string;
  error: unknown;
  stageId?: StageId | null;
  retry?: () => void;
  /** The title is true whether it was done or not. */
  saysBoth?: boolean;
}

/** Shows a failure over the page, with its next step. */
export function showFailure({ title, error, stageId = null, retry, saysBoth = false }: Failure): void {
  const { step, details } = describeError(error);
  const id = notifications.show({
    title: saysBoth ? title : failureText(title, error),
    message: <ErrorBody error={error} stageId={stageId} retry={retry} done={() => notifications.hide(id)} />,
    color: 'red',
    // Whoever reads details, or is to do something, needs time.
    autoClose: details !== null ? false : step !== null ? 30_000 : 12_000,
  });
}
