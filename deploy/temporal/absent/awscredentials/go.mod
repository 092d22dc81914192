module github.com/aws/aws-sdk-go-v2/credentials

go 1.26.0
