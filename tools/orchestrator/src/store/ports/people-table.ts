import type { AlertSettings, Later, Me, Presentation, RequestId, StageId } from '@callboard/contract';

/** What is kept for each person, who is a name in the decision log. */
export interface PeopleTable {
  /** A person whom nothing is kept for has the defaults. `later` lists open requests only. */
  find(name: string): Promise<Me>;
  saveSettings(name: string, settings: { presentation: Presentation; alerts: AlertSettings }): Promise<void>;
  /** The open requests that anybody set aside until an instant, by that instant. */
  listReturning(): Promise<(Later & { person: string; until: string })[]>;
  /** Inserts or replaces it, and forgets what was set aside and is no longer open. */
  saveLater(person: string, later: Later): Promise<void>;
  /** Returns whether it was set aside. */
  removeLater(person: string, stageId: StageId, requestId: RequestId): Promise<boolean>;
}
