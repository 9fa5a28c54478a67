import { useQuery } from '@tanstack/react-query';
import { UnsettledAnswers } from '../features/decisions/components/unsettled-answers.tsx';
import { Inbox } from '../features/interaction/components/inbox.tsx';
import { boardQuery } from '../live/queries.ts';

export default function InboxPage() {
  const { data: unsettled = [] } = useQuery({ ...boardQuery, select: (view) => view.unsettled });
  return <Inbox others={<UnsettledAnswers decisions={unsettled} />} hasOthers={unsettled.length > 0} />;
}
