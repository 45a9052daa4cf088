"use strict";

// The page renders the description. It sends no API requests and has no input for a key.
const contract = document.getElementById("contract");

const renderNothing = () => () => null;

// Swagger UI's own filter matches only tags. This one matches the tag, path, id, summary and description of an operation.
const filterOperations = (groups, phrase) => {
  const searched = phrase.toLowerCase();
  return groups
    .map((group, name) => group.update("operations", operations => operations.filter(operation =>
      [name, operation.get("path"), ...["operationId", "summary", "description"].map(key => operation.getIn(["operation", key]))]
        .some(text => String(text).toLowerCase().includes(searched)))))
    .filter(group => group.get("operations").size > 0);
};

const readOnly = system => {
  const element = system.React.createElement;
  return {
    fn: { opsFilter: filterOperations },
    wrapComponents: {
      authorizeBtn: renderNothing,
      authorizeOperationBtn: renderNothing,
      auths: renderNothing,
      JsonSchemaForm: renderNothing, // the input of a parameter
      contentType: () => ({ contentTypes }) => element("code", null, contentTypes.join(", ")),
      ServersContainer: () => () =>
        element("p", { className: "base-url" }, "Base URL ", element("code", null, system.specSelectors.servers().first().get("url"))),
      FilterContainer: () => () => element("div", { className: "wrapper" }, element("input", {
        type: "search",
        className: "filter-operations",
        placeholder: "Filter the operations",
        "aria-label": "Filter the operations",
        onChange: event => system.layoutActions.updateFilter(event.target.value || true),
      })),
      OperationSummaryPath: Original => props => element(system.React.Fragment, null,
        element(Original, props),
        element("span", { className: "stage" },
          system.specSelectors.specJson().getIn(["paths", props.operationProps.get("path"), props.operationProps.get("method"), "x-lifecycle-stage"]))),
    },
  };
};

SwaggerUIBundle({
  domNode: contract,
  url: contract.dataset.description,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [readOnly],
  layout: "BaseLayout",
  supportedSubmitMethods: [],
  validatorUrl: null,
  filter: true,
  deepLinking: true,
  docExpansion: "list",
  displayOperationId: true,
  showCommonExtensions: true,
  defaultModelRendering: "model",
  defaultModelExpandDepth: 6,
  defaultModelsExpandDepth: 0,
});
