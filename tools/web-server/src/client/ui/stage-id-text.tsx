import type { StageId } from '@callboard/contract';
import css from './stage-id-text.module.css';

/** A stage's id, as people say it to one another. */
export const StageIdText = ({ id }: { id: StageId }) => <span className={css.id}>{id}</span>;
