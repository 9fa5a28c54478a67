import { Confirm } from './confirm.tsx';

interface ConfirmDeleteProps {
  opened: boolean;
  /** Of the stage. */
  title: string;
  busy: boolean;
  confirm: () => void;
  close: () => void;
}

/** Asks before a stage is deleted, and says what goes with it. */
export const ConfirmDelete = ({ title, ...props }: ConfirmDeleteProps) => (
  <Confirm
    title={`Delete ${title}`}
    text="The card, its transcript and its queue go. Work in its worktree that is not merged stays recoverable from its branch."
    verb="Delete"
    {...props}
  />
);
