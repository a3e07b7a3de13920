#include "admission/built_in_types.h"

namespace phalanx::admission {
namespace {

constexpr std::string_view kTypes = R"(
ObjectMeta
  annotations {string}, creationTimestamp string, deletionGracePeriodSeconds int64,
  deletionTimestamp string, finalizers [string], generateName string, generation int64,
  labels {string}, managedFields [ManagedFieldsEntry], name string, namespace string,
  ownerReferences [OwnerReference], resourceVersion string, selfLink string, uid string
OwnerReference
  apiVersion string, blockOwnerDeletion bool, controller bool, kind string, name string,
  uid string
ManagedFieldsEntry
  apiVersion string, fieldsType string, fieldsV1 any, manager string, operation string,
  subresource string, time string
LabelSelector
  matchExpressions [LabelSelectorRequirement], matchLabels {string}
LabelSelectorRequirement
  key string, operator string, values [string]
Namespace
  apiVersion string, kind string, metadata ObjectMeta, spec NamespaceSpec, status NamespaceStatus
NamespaceSpec
  finalizers [string]
NamespaceStatus
  conditions [NamespaceCondition], phase string
NamespaceCondition
  lastTransitionTime string, message string, reason string, status string, type string
Node
  apiVersion string, kind string, metadata ObjectMeta, spec NodeSpec, status NodeStatus
NodeSpec
  configSource NodeConfigSource, externalID string, podCIDR string, podCIDRs [string],
  providerID string, taints [Taint], unschedulable bool
Taint
  effect string, key string, timeAdded string, value string
NodeConfigSource
  configMap ConfigMapNodeConfigSource
ConfigMapNodeConfigSource
  kubeletConfigKey string, name string, namespace string, resourceVersion string, uid string
NodeStatus
  addresses [NodeAddress], allocatable {quantity}, capacity {quantity},
  conditions [NodeCondition], config NodeConfigStatus, daemonEndpoints NodeDaemonEndpoints,
  declaredFeatures [string], features NodeFeatures, images [ContainerImage],
  nodeInfo NodeSystemInfo, phase string, runtimeHandlers [NodeRuntimeHandler],
  volumesAttached [AttachedVolume], volumesInUse [string]
NodeCondition
  lastHeartbeatTime string, lastTransitionTime string, message string, reason string,
  status string, type string
NodeAddress
  address string, type string
NodeDaemonEndpoints
  kubeletEndpoint DaemonEndpoint
DaemonEndpoint
  Port int32
NodeSystemInfo
  architecture string, bootID string, containerRuntimeVersion string, kernelVersion string,
  kubeProxyVersion string, kubeletVersion string, machineID string, operatingSystem string,
  osImage string, swap NodeSwapStatus, systemUUID string
NodeSwapStatus
  capacity int64
ContainerImage
  names [string], sizeBytes int64
AttachedVolume
  devicePath string, name string
NodeConfigStatus
  active NodeConfigSource, assigned NodeConfigSource, error string, lastKnownGood NodeConfigSource
NodeRuntimeHandler
  features NodeRuntimeHandlerFeatures, name string
NodeRuntimeHandlerFeatures
  recursiveReadOnlyMounts bool, userNamespaces bool
NodeFeatures
  supplementalGroupsPolicy bool
Pod
  apiVersion string, kind string, metadata ObjectMeta, spec PodSpec, status PodStatus
PodSpec
  activeDeadlineSeconds int64, affinity Affinity, automountServiceAccountToken bool,
  containers [Container], dnsConfig PodDNSConfig, dnsPolicy string, enableServiceLinks bool,
  ephemeralContainers [EphemeralContainer], hostAliases [HostAlias], hostIPC bool,
  hostNetwork bool, hostPID bool, hostUsers bool, hostname string, hostnameOverride string,
  imagePullSecrets [LocalObjectReference], initContainers [Container], nodeName string,
  nodeSelector {string}, os PodOS, overhead {quantity}, preemptionPolicy string, priority int32,
  priorityClassName string, readinessGates [PodReadinessGate], resourceClaims [PodResourceClaim],
  resources ResourceRequirements, restartPolicy string, runtimeClassName string,
  schedulerName string, schedulingGates [PodSchedulingGate], securityContext PodSecurityContext,
  serviceAccount string, serviceAccountName string, setHostnameAsFQDN bool,
  shareProcessNamespace bool, subdomain string, terminationGracePeriodSeconds int64,
  tolerations [Toleration], topologySpreadConstraints [TopologySpreadConstraint],
  volumes [Volume], workloadRef any
Volume
  awsElasticBlockStore AWSElasticBlockStoreVolumeSource, azureDisk AzureDiskVolumeSource,
  azureFile AzureFileVolumeSource, cephfs CephFSVolumeSource, cinder CinderVolumeSource,
  configMap ConfigMapVolumeSource, csi CSIVolumeSource, downwardAPI DownwardAPIVolumeSource,
  emptyDir EmptyDirVolumeSource, ephemeral EphemeralVolumeSource, fc FCVolumeSource,
  flexVolume FlexVolumeSource, flocker FlockerVolumeSource,
  gcePersistentDisk GCEPersistentDiskVolumeSource, gitRepo GitRepoVolumeSource,
  glusterfs GlusterfsVolumeSource, hostPath HostPathVolumeSource, image ImageVolumeSource,
  iscsi ISCSIVolumeSource, name string, nfs NFSVolumeSource,
  persistentVolumeClaim PersistentVolumeClaimVolumeSource,
  photonPersistentDisk PhotonPersistentDiskVolumeSource, portworxVolume PortworxVolumeSource,
  projected ProjectedVolumeSource, quobyte QuobyteVolumeSource, rbd RBDVolumeSource,
  scaleIO ScaleIOVolumeSource, secret SecretVolumeSource, storageos StorageOSVolumeSource,
  vsphereVolume VsphereVirtualDiskVolumeSource
HostPathVolumeSource
  path string, type string
EmptyDirVolumeSource
  medium string, sizeLimit quantity
GCEPersistentDiskVolumeSource
  fsType string, partition int32, pdName string, readOnly bool
AWSElasticBlockStoreVolumeSource
  fsType string, partition int32, readOnly bool, volumeID string
GitRepoVolumeSource
  directory string, repository string, revision string
SecretVolumeSource
  defaultMode int32, items [KeyToPath], optional bool, secretName string
KeyToPath
  key string, mode int32, path string
NFSVolumeSource
  path string, readOnly bool, server string
ISCSIVolumeSource
  chapAuthDiscovery bool, chapAuthSession bool, fsType string, initiatorName string, iqn string,
  iscsiInterface string, lun int32, portals [string], readOnly bool,
  secretRef LocalObjectReference, targetPortal string
LocalObjectReference
  name string
GlusterfsVolumeSource
  endpoints string, path string, readOnly bool
PersistentVolumeClaimVolumeSource
  claimName string, readOnly bool
RBDVolumeSource
  fsType string, image string, keyring string, monitors [string], pool string, readOnly bool,
  secretRef LocalObjectReference, user string
FlexVolumeSource
  driver string, fsType string, options {string}, readOnly bool, secretRef LocalObjectReference
CinderVolumeSource
  fsType string, readOnly bool, secretRef LocalObjectReference, volumeID string
CephFSVolumeSource
  monitors [string], path string, readOnly bool, secretFile string,
  secretRef LocalObjectReference, user string
FlockerVolumeSource
  datasetName string, datasetUUID string
DownwardAPIVolumeSource
  defaultMode int32, items [DownwardAPIVolumeFile]
DownwardAPIVolumeFile
  fieldRef ObjectFieldSelector, mode int32, path string, resourceFieldRef ResourceFieldSelector
ObjectFieldSelector
  apiVersion string, fieldPath string
ResourceFieldSelector
  containerName string, divisor quantity, resource string
FCVolumeSource
  fsType string, lun int32, readOnly bool, targetWWNs [string], wwids [string]
AzureFileVolumeSource
  readOnly bool, secretName string, shareName string
ConfigMapVolumeSource
  defaultMode int32, items [KeyToPath], name string, optional bool
VsphereVirtualDiskVolumeSource
  fsType string, storagePolicyID string, storagePolicyName string, volumePath string
QuobyteVolumeSource
  group string, readOnly bool, registry string, tenant string, user string, volume string
AzureDiskVolumeSource
  cachingMode string, diskName string, diskURI string, fsType string, kind string, readOnly bool
PhotonPersistentDiskVolumeSource
  fsType string, pdID string
ProjectedVolumeSource
  defaultMode int32, sources [VolumeProjection]
VolumeProjection
  clusterTrustBundle ClusterTrustBundleProjection, configMap ConfigMapProjection,
  downwardAPI DownwardAPIProjection, podCertificate PodCertificateProjection,
  secret SecretProjection, serviceAccountToken ServiceAccountTokenProjection
SecretProjection
  items [KeyToPath], name string, optional bool
DownwardAPIProjection
  items [DownwardAPIVolumeFile]
ConfigMapProjection
  items [KeyToPath], name string, optional bool
ServiceAccountTokenProjection
  audience string, expirationSeconds int64, path string
ClusterTrustBundleProjection
  labelSelector LabelSelector, name string, optional bool, path string, signerName string
PodCertificateProjection
  certificateChainPath string, credentialBundlePath string, keyPath string, keyType string,
  maxExpirationSeconds int32, signerName string, userAnnotations {string}
PortworxVolumeSource
  fsType string, readOnly bool, volumeID string
ScaleIOVolumeSource
  fsType string, gateway string, protectionDomain string, readOnly bool,
  secretRef LocalObjectReference, sslEnabled bool, storageMode string, storagePool string,
  system string, volumeName string
StorageOSVolumeSource
  fsType string, readOnly bool, secretRef LocalObjectReference, volumeName string,
  volumeNamespace string
CSIVolumeSource
  driver string, fsType string, nodePublishSecretRef LocalObjectReference, readOnly bool,
  volumeAttributes {string}
EphemeralVolumeSource
  volumeClaimTemplate PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate
  metadata ObjectMeta, spec PersistentVolumeClaimSpec
PersistentVolumeClaimSpec
  accessModes [string], dataSource TypedLocalObjectReference, dataSourceRef TypedObjectReference,
  resources VolumeResourceRequirements, selector LabelSelector, storageClassName string,
  volumeAttributesClassName string, volumeMode string, volumeName string
VolumeResourceRequirements
  limits {quantity}, requests {quantity}
TypedLocalObjectReference
  apiGroup string, kind string, name string
TypedObjectReference
  apiGroup string, kind string, name string, namespace string
ImageVolumeSource
  pullPolicy string, reference string
Container
  args [string], command [string], env [EnvVar], envFrom [EnvFromSource], image string,
  imagePullPolicy string, lifecycle Lifecycle, livenessProbe Probe, name string,
  ports [ContainerPort], readinessProbe Probe, resizePolicy [ContainerResizePolicy],
  resources ResourceRequirements, restartPolicy string, restartPolicyRules [ContainerRestartRule],
  securityContext SecurityContext, startupProbe Probe, stdin bool, stdinOnce bool,
  terminationMessagePath string, terminationMessagePolicy string, tty bool,
  volumeDevices [VolumeDevice], volumeMounts [VolumeMount], workingDir string
ContainerPort
  containerPort int32, hostIP string, hostPort int32, name string, protocol string
EnvFromSource
  configMapRef ConfigMapEnvSource, prefix string, secretRef SecretEnvSource
ConfigMapEnvSource
  name string, optional bool
SecretEnvSource
  name string, optional bool
EnvVar
  name string, value string, valueFrom EnvVarSource
EnvVarSource
  configMapKeyRef ConfigMapKeySelector, fieldRef ObjectFieldSelector, fileKeyRef FileKeySelector,
  resourceFieldRef ResourceFieldSelector, secretKeyRef SecretKeySelector
ConfigMapKeySelector
  key string, name string, optional bool
SecretKeySelector
  key string, name string, optional bool
FileKeySelector
  key string, optional bool, path string, volumeName string
ResourceRequirements
  claims [ResourceClaim], limits {quantity}, requests {quantity}
ResourceClaim
  name string, request string
ContainerResizePolicy
  resourceName string, restartPolicy string
ContainerRestartRule
  action string, exitCodes ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes
  operator string, values [int32]
VolumeMount
  mountPath string, mountPropagation string, name string, readOnly bool, recursiveReadOnly string,
  subPath string, subPathExpr string
VolumeDevice
  devicePath string, name string
Probe
  exec ExecAction, failureThreshold int32, grpc GRPCAction, httpGet HTTPGetAction,
  initialDelaySeconds int32, periodSeconds int32, successThreshold int32,
  tcpSocket TCPSocketAction, terminationGracePeriodSeconds int64, timeoutSeconds int32
ExecAction
  command [string]
HTTPGetAction
  host string, httpHeaders [HTTPHeader], path string, port int|string, scheme string
HTTPHeader
  name string, value string
TCPSocketAction
  host string, port int|string
GRPCAction
  port int32, service string
Lifecycle
  postStart LifecycleHandler, preStop LifecycleHandler, stopSignal string
LifecycleHandler
  exec ExecAction, httpGet HTTPGetAction, sleep SleepAction, tcpSocket TCPSocketAction
SleepAction
  seconds int64
SecurityContext
  allowPrivilegeEscalation bool, appArmorProfile AppArmorProfile, capabilities Capabilities,
  privileged bool, procMount string, readOnlyRootFilesystem bool, runAsGroup int64,
  runAsNonRoot bool, runAsUser int64, seLinuxOptions SELinuxOptions,
  seccompProfile SeccompProfile, windowsOptions WindowsSecurityContextOptions
Capabilities
  add [string], drop [string]
SELinuxOptions
  level string, role string, type string, user string
WindowsSecurityContextOptions
  gmsaCredentialSpec string, gmsaCredentialSpecName string, hostProcess bool, runAsUserName string
SeccompProfile
  localhostProfile string, type string
AppArmorProfile
  localhostProfile string, type string
EphemeralContainer
  args [string], command [string], env [EnvVar], envFrom [EnvFromSource], image string,
  imagePullPolicy string, lifecycle Lifecycle, livenessProbe Probe, name string,
  ports [ContainerPort], readinessProbe Probe, resizePolicy [ContainerResizePolicy],
  resources ResourceRequirements, restartPolicy string, restartPolicyRules [ContainerRestartRule],
  securityContext SecurityContext, startupProbe Probe, stdin bool, stdinOnce bool,
  targetContainerName string, terminationMessagePath string, terminationMessagePolicy string,
  tty bool, volumeDevices [VolumeDevice], volumeMounts [VolumeMount], workingDir string
PodSecurityContext
  appArmorProfile AppArmorProfile, fsGroup int64, fsGroupChangePolicy string, runAsGroup int64,
  runAsNonRoot bool, runAsUser int64, seLinuxChangePolicy string, seLinuxOptions SELinuxOptions,
  seccompProfile SeccompProfile, supplementalGroups [int64], supplementalGroupsPolicy string,
  sysctls [Sysctl], windowsOptions WindowsSecurityContextOptions
Sysctl
  name string, value string
Affinity
  nodeAffinity NodeAffinity, podAffinity PodAffinity, podAntiAffinity PodAntiAffinity
NodeAffinity
  preferredDuringSchedulingIgnoredDuringExecution [PreferredSchedulingTerm],
  requiredDuringSchedulingIgnoredDuringExecution NodeSelector
NodeSelector
  nodeSelectorTerms [NodeSelectorTerm]
NodeSelectorTerm
  matchExpressions [NodeSelectorRequirement], matchFields [NodeSelectorRequirement]
NodeSelectorRequirement
  key string, operator string, values [string]
PreferredSchedulingTerm
  preference NodeSelectorTerm, weight int32
PodAffinity
  preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
PodAffinityTerm
  labelSelector LabelSelector, matchLabelKeys [string], mismatchLabelKeys [string],
  namespaceSelector LabelSelector, namespaces [string], topologyKey string
WeightedPodAffinityTerm
  podAffinityTerm PodAffinityTerm, weight int32
PodAntiAffinity
  preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
Toleration
  effect string, key string, operator string, tolerationSeconds int64, value string
HostAlias
  hostnames [string], ip string
PodDNSConfig
  nameservers [string], options [PodDNSConfigOption], searches [string]
PodDNSConfigOption
  name string, value string
PodReadinessGate
  conditionType string
TopologySpreadConstraint
  labelSelector LabelSelector, matchLabelKeys [string], maxSkew int32, minDomains int32,
  nodeAffinityPolicy string, nodeTaintsPolicy string, topologyKey string, whenUnsatisfiable string
PodOS
  name string
PodSchedulingGate
  name string
PodResourceClaim
  name string, resourceClaimName string, resourceClaimTemplateName string
PodStatus
  conditions [PodCondition], containerStatuses [ContainerStatus],
  ephemeralContainerStatuses [ContainerStatus],
  extendedResourceClaimStatus PodExtendedResourceClaimStatus, hostIP string, hostIPs [HostIP],
  initContainerStatuses [ContainerStatus], message string, nominatedNodeName string,
  observedGeneration int64, phase string, podIP string, podIPs [PodIP], qosClass string,
  reason string, resize string, resourceClaimStatuses [PodResourceClaimStatus], startTime string
PodCondition
  lastProbeTime string, lastTransitionTime string, message string, observedGeneration int64,
  reason string, status string, type string
HostIP
  ip string
PodIP
  ip string
ContainerStatus
  allocatedResources {quantity}, allocatedResourcesStatus [ResourceStatus], containerID string,
  image string, imageID string, lastState ContainerState, name string, ready bool,
  resources ResourceRequirements, restartCount int32, started bool, state ContainerState,
  stopSignal string, user ContainerUser, volumeMounts [VolumeMountStatus]
ContainerState
  running ContainerStateRunning, terminated ContainerStateTerminated,
  waiting ContainerStateWaiting
ContainerStateWaiting
  message string, reason string
ContainerStateRunning
  startedAt string
ContainerStateTerminated
  containerID string, exitCode int32, finishedAt string, message string, reason string,
  signal int32, startedAt string
VolumeMountStatus
  mountPath string, name string, readOnly bool, recursiveReadOnly string
ContainerUser
  linux LinuxContainerUser
LinuxContainerUser
  gid int64, supplementalGroups [int64], uid int64
ResourceStatus
  name string, resources [ResourceHealth]
ResourceHealth
  health string, resourceID string
PodResourceClaimStatus
  name string, resourceClaimName string
PodExtendedResourceClaimStatus
  requestMappings [ContainerExtendedResourceRequest], resourceClaimName string
ContainerExtendedResourceRequest
  containerName string, requestName string, resourceName string
LimitRange
  apiVersion string, kind string, metadata ObjectMeta, spec LimitRangeSpec
LimitRangeSpec
  limits [LimitRangeItem]
LimitRangeItem
  default {quantity}, defaultRequest {quantity}, max {quantity}, maxLimitRequestRatio {quantity},
  min {quantity}, type string
Event
  action string, apiVersion string, count int32, eventTime string, firstTimestamp string,
  involvedObject ObjectReference, kind string, lastTimestamp string, message string,
  metadata ObjectMeta, reason string, related ObjectReference, reportingComponent string,
  reportingInstance string, series EventSeries, source EventSource, type string
ObjectReference
  apiVersion string, fieldPath string, kind string, name string, namespace string,
  resourceVersion string, uid string
EventSource
  component string, host string
EventSeries
  count int32, lastObservedTime string
PriorityClass
  apiVersion string, description string, globalDefault bool, kind string, metadata ObjectMeta,
  preemptionPolicy string, value int32
RuntimeClass
  apiVersion string, handler string, kind string, metadata ObjectMeta, overhead RuntimeOverhead,
  scheduling RuntimeScheduling
RuntimeOverhead
  podFixed {quantity}
RuntimeScheduling
  nodeSelector {string}, tolerations [Toleration]
Job
  apiVersion string, kind string, metadata ObjectMeta, spec JobSpec, status JobStatus
JobSpec
  activeDeadlineSeconds int64, backoffLimit int32, backoffLimitPerIndex int32,
  completionMode string, completions int32, managedBy string, manualSelector bool,
  maxFailedIndexes int32, parallelism int32, podFailurePolicy PodFailurePolicy,
  podReplacementPolicy string, selector LabelSelector, successPolicy SuccessPolicy, suspend bool,
  template PodTemplateSpec, ttlSecondsAfterFinished int32
PodFailurePolicy
  rules [PodFailurePolicyRule]
PodFailurePolicyRule
  action string, onExitCodes PodFailurePolicyOnExitCodesRequirement,
  onPodConditions [PodFailurePolicyOnPodConditionsPattern]
PodFailurePolicyOnExitCodesRequirement
  containerName string, operator string, values [int32]
PodFailurePolicyOnPodConditionsPattern
  status string, type string
SuccessPolicy
  rules [SuccessPolicyRule]
SuccessPolicyRule
  succeededCount int32, succeededIndexes string
PodTemplate
  apiVersion string, kind string, metadata ObjectMeta, template PodTemplateSpec
PodTemplateSpec
  metadata ObjectMeta, spec PodSpec
JobStatus
  active int32, completedIndexes string, completionTime string, conditions [JobCondition],
  failed int32, failedIndexes string, ready int32, startTime string, succeeded int32,
  terminating int32, uncountedTerminatedPods UncountedTerminatedPods
JobCondition
  lastProbeTime string, lastTransitionTime string, message string, reason string, status string,
  type string
UncountedTerminatedPods
  failed [string], succeeded [string]
)";

}  // namespace

std::string_view built_in_types() {
  return kTypes;
}

}  // namespace phalanx::admission
