// Package gen is what is generated from the contracts in proto/: Go in go/,
// OpenAPI in openapi/, TypeScript in ts/.
package gen

import _ "embed" // for the OpenAPI document

// OpenAPI is the OpenAPI 2.0 document of the REST routes, in YAML, as generated:
// it does not know the envelope that the gateway puts around every answer.
//
//go:embed openapi/nanoclaw.swagger.yaml
var OpenAPI string
