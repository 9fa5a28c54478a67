import { notifications } from '@mantine/notifications';
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { errorText } from '../lib/api.ts';

interface Command<Input, Reply> {
  run: (input: Input) => Promise<Reply>;
  /** What did not work, as a heading: "Login form was not started". Without it the caller shows the error itself. */
  failed?: string | ((input: Input) => string);
  done?: (reply: Reply, input: Input) => void;
}

/** A command to the server: pending until the server has answered, told in words if it refused. */
export function useCommand<Input, Reply>(command: Command<Input, Reply>): UseMutationResult<Reply, Error, Input> {
  return useMutation({
    mutationFn: command.run,
    onSuccess: command.done,
    onError(error, input) {
      const { failed } = command;
      if (failed === undefined) return;
      const title = typeof failed === 'function' ? failed(input) : failed;
      notifications.show({ title, message: errorText(error), color: 'red', autoClose: 12_000 });
    },
  });
}
