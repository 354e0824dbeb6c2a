import type { Checkout } from '../domain/checkout';
import type { Html } from '../../html/html';
import type { FormContext } from './form';
import type { LayoutContext } from './layout';

/** An order and its customer's checkout, as a page shows them to the requesting browser. */
export interface View extends Checkout, Pick<LayoutContext, 'providerDetails' | 'path'> {
  now: Date;
  /** The calendar date in London, from which repayments count. */
  today: string;
  /** True if the application or payment belongs to the browser, or there is none. */
  isApplicant: boolean;
  /** False if the customer turned automatic updates off (WCAG 2.2, 2.2.1). */
  isRefreshing: boolean;
  /** How long an application is kept after its order closes. */
  retentionDays: number;
  /** Whom we write to about the application, as in `maskEmail`; undefined if we do not write. */
  mailTo: string | undefined;
  /** How the applicant opens the page on another device; undefined while every browser may open it. */
  elsewhere: Html | undefined;
}

/** For a page with forms. */
export type FormView = View & FormContext;
