package contract

// ReadArtifact is the name of the mesh's tool that reads artifacts. A turn offers it to the model once the conversation has one.
const ReadArtifact = "mesh__read_artifact"
