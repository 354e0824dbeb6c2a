export { PACKAGE_ROOT } from '../src/version';
