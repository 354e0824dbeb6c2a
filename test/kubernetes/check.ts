import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config';
import { PACKAGE_ROOT } from '../../src/package';
import { codeBlocks } from '../extended/docs/markdown-blocks';
import { installRequirements } from '../support/python-venv';

/**
 * `npm run kubernetes`: renders deploy/kubernetes/ with kustomize, and the overlay of docs/operators/kubernetes.md alone, with
 * its component and with a CA of Postgres, and checks each object against the schemas of these versions of Kubernetes,
 * the settings against the service, and the references between the objects. Needs Go and Python; both programs are
 * cached.
 */
const KUSTOMIZE = '5.8.1';
const KUBERNETES = ['1.29', '1.37'];
const CACHE = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'order-service');

function kustomize(): string {
  const bin = path.join(CACHE, `kustomize-${KUSTOMIZE}`);
  const file = path.join(bin, 'kustomize');
  if (!existsSync(file)) {
    console.log('building kustomize with Go');
    const env = { ...process.env, GOBIN: bin, CGO_ENABLED: '0' };
    const args = ['install', '-trimpath', `sigs.k8s.io/kustomize/kustomize/v5@v${KUSTOMIZE}`];
    execFileSync('go', args, { env, stdio: 'inherit', cwd: tmpdir() });
  }
  return file;
}

const failures: string[] = [];
const alertRules = readFileSync(path.join(PACKAGE_ROOT, 'deploy/monitoring/alert-rules.yml'), 'utf8');

/**
 * Checks what the schemas do not: settings, labels, ports and the restrictions of docker-compose.yml.
 * @param hasComponent true with deploy/kubernetes/orders-waiting
 */
function checkObjects(objects: readonly any[], hasComponent: boolean): void {
  const named = (kind: string, name: string): any =>
    objects.find((one) => one.kind === kind && one.metadata.name.replace(/-[a-z0-9]{10}$/, '') === name);
  const expectTrue = (is: unknown, what: string): void => {
    if (!is) failures.push(what);
  };
  const { data: settings } = named('ConfigMap', 'order-service');
  const secret = { DATABASE_URL: 'postgres://orders@postgres/orders' };
  const image = { NODE_ENV: 'production', HOST: '::' };
  expectTrue(loadConfig({ ...image, ...settings, ...secret }).production, 'the settings are valid');

  for (const { kind, metadata, spec } of objects.filter((one) => ['Deployment', 'Job'].includes(one.kind))) {
    const { spec: pod, metadata: labelled } = spec.template;
    const [container] = pod.containers;
    const title = `${kind} ${metadata.name}`;
    const script = container.command.find((word: string) => word.endsWith('.js'));
    if (script) expectTrue(existsSync(path.join(PACKAGE_ROOT, script)), `${title}: ${script} is in the image`);
    expectTrue(container.securityContext.readOnlyRootFilesystem, `${title}: read-only`);
    expectTrue(container.securityContext.capabilities.drop[0] === 'ALL', `${title}: no capabilities`);
    expectTrue(pod.securityContext.runAsNonRoot && !pod.automountServiceAccountToken, `${title}: no rights`);
    expectTrue(pod.enableServiceLinks === false, `${title}: no variables for the Services of the namespace`);
    expectTrue(container.resources.requests.memory && container.resources.limits.memory, `${title}: memory`);
    expectTrue(/:.+/.test(container.image), `${title}: image with a tag`);
    expectTrue(container.envFrom[0].configMapRef.name === named('ConfigMap', 'order-service').metadata.name, title);
    expectTrue(labelled.labels['app.kubernetes.io/part-of'] === 'order-service', `${title}: label of the policies`);
    if (kind === 'Job') continue;
    if (metadata.name === 'cli') {
      expectTrue(spec.replicas === 0, `${title}: runs only on demand`);
      continue;
    }
    const { shutdownDelayMs, shutdownGraceMs } = loadConfig({ ...image, ...settings, ...secret });
    const longest = metadata.name === 'worker' ? shutdownGraceMs + 20_000 : shutdownDelayMs + shutdownGraceMs;
    expectTrue(pod.terminationGracePeriodSeconds * 1000 > longest, `${title}: time to stop`);
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
      const { port } = container[probe].httpGet;
      expectTrue(
        container.ports.some((one: any) => one.name === port),
        `${title}: port of ${probe}`,
      );
    }
    const metricsPort = container.ports.find((one: any) => one.name === 'metrics')?.containerPort;
    expectTrue(settings.METRICS_ADDRESS.endsWith(`:${metricsPort}`), `${title}: port of the metrics`);
    const job = `job="order-service-${labelled.labels['app.kubernetes.io/name']}"`;
    expectTrue(alertRules.includes(job), `${title}: job of docs/operators/kubernetes.md, as in the alert rules`);
    for (const selecting of [spec, named('PodDisruptionBudget', metadata.name).spec]) {
      const selected = Object.entries(selecting.selector.matchLabels);
      expectTrue(
        selected.every(([label, value]) => labelled.labels[label] === value),
        `${title}: selectors`,
      );
    }
    const { scaleTargetRef, minReplicas, metrics } = named('HorizontalPodAutoscaler', metadata.name).spec;
    expectTrue(scaleTargetRef.name === metadata.name && minReplicas >= 2, `${title}: autoscaler`);
    // An autoscaler with a metric that it cannot read never removes a pod. Only the component needs an adapter.
    const external = metrics.filter(({ type }: any) => type !== 'Resource').map((one: any) => one.external.metric.name);
    const expected = hasComponent && metadata.name === 'worker' ? 'order_service_orders_waiting' : '';
    expectTrue(external.join() === expected, `${title}: metrics of the autoscaler`);
  }
  expectTrue(named('Service', 'api').spec.selector['app.kubernetes.io/name'] === 'api', 'Service api: selector');
}

const start = performance.now();
const folder = mkdtempSync(path.join(tmpdir(), 'kubernetes-'));
try {
  const program = kustomize();
  const bin = installRequirements('kubernetes', path.join(PACKAGE_ROOT, 'test/kubernetes/requirements.txt'));
  cpSync(path.join(PACKAGE_ROOT, 'deploy'), path.join(folder, 'deploy'), { recursive: true });
  const blocks = codeBlocks('docs/operators/kubernetes.md');
  const overlay = blocks.find(({ language }) => language === 'yaml')!.code;
  const component = blocks.find(({ code }) => code.startsWith('components:'))!.code;
  const postgresCa = blocks.find(({ code }) => code.includes('\npatches:'))!.code;
  for (const [name, text] of [
    ['production', overlay],
    ['scaled', overlay + component],
    ['private-ca', overlay + postgresCa],
  ] as const) {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, 'kustomization.yaml'), text);
  }
  for (const name of ['deploy/kubernetes', 'production', 'scaled', 'private-ca']) {
    const rendered = execFileSync(program, ['build', name], { cwd: folder, encoding: 'utf8' });
    const objects = parseAllDocuments(rendered).map((document) => document.toJS());
    const file = path.join(folder, 'rendered.yaml');
    writeFileSync(file, rendered);
    for (const version of KUBERNETES) {
      const args = ['--strict', '--kubernetes-version', version, file];
      const { status, stdout, stderr } = spawnSync(path.join(bin, 'kubernetes-validate'), args, { encoding: 'utf8' });
      if (status !== 0) failures.push(`${name} on Kubernetes ${version}:\n${stdout}${stderr}`);
    }
    checkObjects(objects, name === 'scaled');
    console.log(`${name}: ${objects.length} objects, checked for Kubernetes ${KUBERNETES.join(' and ')}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${((performance.now() - start) / 1000).toFixed(1)} s`);
if (failures.length > 0) process.exitCode = 1;
