import { notifications } from '@mantine/notifications';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { failureMessage } from './failure-message.tsx';

interface Command<Input, Reply> {
  run: (input: Input) => Promise<Reply>;
  /** What did not work, as a heading: "Login form was not started". If absent, the caller shows the error. */
  failed?: string | ((input: Input) => string);
  done?: (reply: Reply, input: Input) => void;
}

/** Sends a command to the server. It is pending until the server answers; a refusal is shown as a notification. */
export function useCommand<Input, Reply>(command: Command<Input, Reply>): UseMutationResult<Reply, Error, Input> {
  return useMutation({
    mutationFn: command.run,
    onSuccess: command.done,
    onError(error, input) {
      const { failed } = command;
      if (failed === undefined) return;
      const title = typeof failed === 'function' ? failed(input) : failed;
      const { message, hasDetails } = failureMessage(error);
      // Whoever reads details needs time.
      notifications.show({ title, message, color: 'red', autoClose: hasDetails ? false : 12_000 });
    },
  });
}
