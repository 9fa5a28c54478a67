import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../data/queries.ts';
import { UnsettledAnswers } from '../features/decisions/unsettled-answers.tsx';
import { Inbox } from '../features/inbox/inbox.tsx';

export default function InboxPage() {
  const { data: unsettled = [] } = useQuery({ ...boardQuery, select: (view) => view.unsettled });
  return <Inbox others={<UnsettledAnswers decisions={unsettled} />} hasOthers={unsettled.length > 0} />;
}
