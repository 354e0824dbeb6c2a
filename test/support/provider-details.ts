import type { ProviderDetails } from '../../src/checkout/pages/provider-details';
import type { FormView } from '../../src/checkout/pages/view';
import type { Application } from '../../src/checkout/domain/application';
import { createSandboxLender } from '../../src/checkout/sandbox/sandbox-lender';
import { ORDER } from './domain-orders';

const lender = createSandboxLender(20_000);

export const PROVIDER_DETAILS: ProviderDetails = {
  lenderName: 'Sandbox Lender',
  reviewTime: lender.reviewTime,
  quote: (order, today) => lender.quote(order, today),
  payNow: {
    name: 'Sandbox Payments',
    regulation: 'It is a test provider, which nobody regulates.',
    banks: [{ id: 'oak', name: 'Oak Bank' }],
  },
  privacyUrl: 'https://pay.example/privacy',
  termsUrl: 'https://pay.example/terms',
  creditAgreementUrl: 'https://pay.example/credit-agreement',
};

/** What the applicant's browser sees of an order. */
export const viewOf = (given: Partial<FormView>): FormView => ({
  ...{ order: ORDER, application: undefined, payment: undefined },
  branding: { shopUrl: null, colour: null, hasLogo: false, contactEmail: null, helpUrl: null },
  providerDetails: PROVIDER_DETAILS,
  ...{ path: '/pay/x', token: '' },
  ...{ now: new Date('2026-03-01T10:00:00Z'), today: '2026-03-01' },
  ...{ isApplicant: true, isRefreshing: true, retentionDays: 30 },
  ...{ mailTo: undefined, elsewhere: undefined },
  ...given,
});

export const APPLICANT = {
  businessName: 'Bloggs Ltd',
  companyNumber: '01234567',
  email: 'jo@bloggs.example',
  monthlyTurnoverPence: 1_250_050,
};

/** The application of a customer who has agreed to repayments. */
export const PAID_LATER: Application = {
  id: '2c1f5f0e-6a55-4d0f-9f2a-7e1f4f0f4444',
  orderId: ORDER.id,
  paymentTerm: 'PAY_LATER',
  submitted: null,
  referredAt: null,
  actionUrl: null,
  returnedAt: null,
  decision: { kind: 'approved', offer: lender.quote(ORDER, '2026-03-01') },
  decidedAt: null,
  agreedAt: new Date('2026-03-01T10:00:00Z'),
  browserDigest: null,
  openLinks: [],
};
