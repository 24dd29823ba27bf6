declare module "*.css" {
  const text: string;
  export default text;
}
declare module "layout-worker" {
  const text: string;
  export default text;
}
