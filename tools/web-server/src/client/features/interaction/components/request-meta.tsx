import { askedTexts, type PendingRequest } from '@callboard/contract';
import { HiddenNote } from '../../../ui/seen.tsx';

/** Whether the request contains hidden characters. Where it comes from and since when it waits is in the form's head. */
export const RequestMeta = ({ request }: { request: PendingRequest }) => <HiddenNote texts={askedTexts(request)} />;
