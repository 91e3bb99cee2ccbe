module github.com/nanoclaw/nanoclaw/services/toolkit

go 1.26.0

require (
	github.com/google/jsonschema-go v0.4.3
	github.com/nanoclaw/nanoclaw/gen v0.0.0
	go.uber.org/goleak v1.3.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261110000943-09e21b237f2c
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/nanoclaw/nanoclaw/gen => ../../gen
