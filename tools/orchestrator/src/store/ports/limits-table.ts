import type { LimitSettings, LimitsView, UsageLimits } from '@callboard/contract';

/** The usage limits of this machine's Claude account, and what happens at one. */
export interface LimitsTable {
  /** Returns the limits as last reported, with the settings in force. */
  view(): Promise<LimitsView>;
  saveReported(limits: UsageLimits): Promise<void>;
  saveSettings(settings: LimitSettings): Promise<void>;
}
